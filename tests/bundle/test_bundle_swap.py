"""The moment of a replacement: seen by nobody, undone where it fails, cleared after a kill."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.bundle.bundled_models import mlp
from topos.bundle import Bundle, export, folder, replacement
from topos.errors import BundleError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())


class System:
    """A system whose exchange of two names fails for a reason."""

    def __init__(self, code: int) -> None:
        self.code = code

    def renameat2(self, *_: object) -> int:
        ctypes.set_errno(self.code)
        return -1


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, None])
def test_without_an_exchange_two_names_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    system = object() if code is None else System(code)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: system)
    export(tmp_path / "b", [mlp(1), mlp(2)], batched=True)
    mlp().export(tmp_path / "b")
    assert [program.name for program in Bundle.load(tmp_path / "b").programs] == ["main"]
    assert names(tmp_path) == ["b"]


def test_an_exchange_that_is_refused_leaves_the_old_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = mlp(seed=1).export(tmp_path / "b").version
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: System(errno.EACCES))
    with pytest.raises(PermissionError) as refused:
        mlp(seed=2).export(tmp_path / "b")
    assert refused.value.filename == str(tmp_path / "b")
    assert Bundle.load(tmp_path / "b").version == version
    assert names(tmp_path) == ["b"]


@pytest.mark.usefixtures("one_at_a_time")
def test_a_reader_waits_for_the_second_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [mlp(seed=1).export(tmp_path / "b").version]
    rename, apart, waiting = os.rename, threading.Event(), threading.Event()

    def slow(source: Path, target: Path) -> None:
        rename(source, target)
        if str(target).endswith(replacement.OLD):
            apart.set()
            assert waiting.wait(20)

    def pause(_: float) -> None:
        waiting.set()
        writer.join()

    monkeypatch.setattr(os, "rename", slow)
    writer = threading.Thread(target=mlp(seed=2).export, args=(tmp_path / "b",))
    monkeypatch.setattr(time, "sleep", pause)
    writer.start()
    try:
        assert apart.wait(20)
        met = Bundle.load(tmp_path / "b").version
    finally:
        writer.join()
    assert met not in versions
    assert met == Bundle.load(tmp_path / "b").version


@pytest.mark.usefixtures("one_at_a_time")
def test_where_the_second_rename_fails_the_old_bundle_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = mlp(seed=1).export(tmp_path / "b").version
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if str(source).endswith(".partial"):
            raise PermissionError("not today")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(PermissionError, match="not today"):
        mlp(seed=2).export(tmp_path / "b")
    assert Bundle.load(tmp_path / "b").version == version
    assert names(tmp_path) == ["b"]


def test_a_path_of_nothing_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, asked = folder.read_manifest, list[Path]()

    def counted(place: Path) -> bytes:
        asked.append(place)
        return read(place)

    monkeypatch.setattr(replacement, "read_manifest", counted)
    with pytest.raises(BundleError):
        Bundle.load(tmp_path / "b")
    assert asked == [tmp_path / "b"]


KILLED = """\
import os, sys
from pathlib import Path
from topos.bundle.replacement import replacing
with replacing(Path(sys.argv[1])) as folder:
    (folder / "weights.safetensors").write_bytes(b"half")
    print(folder.name, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_export_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "b")]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    left = killed.stdout.strip()
    assert killed.returncode == -9
    assert names(tmp_path) == [left]
    mlp().export(tmp_path / "c")
    assert left in names(tmp_path)
    mlp().export(tmp_path / "b")
    assert names(tmp_path) == ["b", "c"]


def test_what_the_process_of_somebody_else_writes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = f"{replacement.prefix_of(tmp_path / 'b')}7-{replacement._machine()}.abcdefgh.partial"
    (tmp_path / left).mkdir()

    def refused(process: int, number: int) -> None:
        assert (process, number) == (7, 0)
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "kill", refused)
    mlp().export(tmp_path / "b")
    assert names(tmp_path) == [left, "b"]


def test_what_is_still_being_written_stays(tmp_path: Path) -> None:
    with replacement.replacing(tmp_path / "b") as partial:
        written = mlp().export(tmp_path / "b")
        for path in written.path.iterdir():
            (partial / path.name).write_bytes(path.read_bytes())
    assert Bundle.load(tmp_path / "b").version == written.version


def test_what_another_machine_left_is_cleared_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody here knows the processes of another machine that writes to the same place.
    left = f"{replacement.prefix_of(tmp_path / 'b')}999999999-00000000.abcdefgh.partial"
    (tmp_path / left).mkdir()
    mlp().export(tmp_path / "b")
    assert names(tmp_path) == [left, "b"]
    monkeypatch.setattr(replacement, "LONGEST_SECONDS", -1.0)
    mlp().export(tmp_path / "b")
    assert names(tmp_path) == ["b"]


def test_a_folder_in_a_bundle_is_no_part_of_it(tmp_path: Path) -> None:
    mlp().export(tmp_path / "b")
    (tmp_path / "b" / "main.mlir").unlink()
    (tmp_path / "b" / "main.mlir").mkdir()
    (tmp_path / "b" / "main.mlir" / "thesis.tex").write_text("mine")
    with pytest.raises(BundleError, match=r"holds main\.mlir, which is no file"):
        mlp().export(tmp_path / "b")
    assert (tmp_path / "b" / "main.mlir" / "thesis.tex").read_text() == "mine"
    (tmp_path / "c").mkdir()
    mlp().export(tmp_path / "c")
    (tmp_path / "c" / "main.mlir").rename(tmp_path / "main.mlir")
    (tmp_path / "c" / "main.mlir").symlink_to(tmp_path / "main.mlir")
    with pytest.raises(BundleError, match=r"holds main\.mlir, which is no file"):
        mlp().export(tmp_path / "c")
