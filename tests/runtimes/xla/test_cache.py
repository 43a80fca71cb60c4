"""Modules of XLA kept between processes, and given away as bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtimes.texts import ELEMENTS, SUM
from topos.errors import CompileError, ParseError
from topos.runtimes import load
from topos.runtimes._packing import packed
from topos.runtimes.xla import build

pytest.importorskip("jax")

XLA = load("xla")
ONES = np.ones(4, np.float32)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is kept can be had."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled")

    monkeypatch.setattr(build, "program", refuse)


def test_a_kept_module_is_not_compiled_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = XLA.compile(SUM, cache=tmp_path)
    request.getfixturevalue("no_compiler")
    again = XLA.compile(SUM, cache=tmp_path)
    assert again.signature == first.signature
    assert again(ONES, ONES)[0].tolist() == [2.0] * 4


def test_a_second_process_finds_what_the_first_kept(tmp_path: Path) -> None:
    XLA.compile(SUM, cache=tmp_path)
    program = (
        "import numpy, topos.runtimes.xla.build as build\nfrom topos.runtimes import load\n"
        "build.program = None\n"
        f"run = load('xla').compile({SUM!r})\n"
        "print(run(numpy.ones(4, 'f'), numpy.ones(4, 'f'))[0].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={"TOPOS_COMPILE_CACHE": str(tmp_path)},
    )
    assert done.stdout == "[2.0, 2.0, 2.0, 2.0]\n"


@pytest.mark.usefixtures("no_compiler")
def test_an_empty_folder_has_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="compiled"):
        XLA.compile(SUM, cache=tmp_path)


def test_text_options_numerics_and_versions_have_entries_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    XLA.compile(SUM, cache=tmp_path)
    XLA.compile(SUM + "\n", cache=tmp_path)
    XLA.compile(SUM, cache=tmp_path, numerics="exact")
    XLA.compile(SUM, cache=tmp_path, options={"xla_backend_optimization_level": 1})
    monkeypatch.setenv("NPROC", "1")
    XLA.compile(SUM, cache=tmp_path)
    monkeypatch.setattr(build, "_versions", lambda: "of tomorrow")
    XLA.compile(SUM, cache=tmp_path).loop({0: 0}, {0: ONES})
    assert len([*tmp_path.iterdir()]) == 7


def test_a_damaged_entry_is_compiled_and_kept_again(tmp_path: Path) -> None:
    XLA.compile(SUM, cache=tmp_path)
    (entry,) = tmp_path.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-40])
    assert XLA.compile(SUM, cache=tmp_path)(ONES, ONES)[0].tolist() == [2.0] * 4
    assert len(entry.read_bytes()) > len(whole) - 40


def test_code_that_xla_cannot_load_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(loaded: build.Loaded) -> bytes:
        code = loaded.executable.serialize()[:1000]
        return packed("xla", loaded.signature, {}, code)

    with monkeypatch.context() as patch:
        patch.setattr(build, "packed_form", cut)
        XLA.compile(SUM, cache=tmp_path)
    assert XLA.compile(SUM, cache=tmp_path)(ONES, ONES)[0].tolist() == [2.0] * 4


def test_a_refused_text_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ParseError):
        XLA.compile("no module \ud800", cache=tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_kept_loop_still_gives_its_memory_away(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    XLA.compile(SUM, cache=tmp_path).loop({0: 0}, {0: ONES})
    request.getfixturevalue("no_compiler")
    loop = XLA.compile(SUM, cache=tmp_path).loop({0: 0}, {0: ONES})
    loop(ONES)
    before: Any = loop._state[0]
    loop(ONES)
    assert before.is_deleted()
    assert loop.state()[0].tolist() == [3.0] * 4


def test_serialized_bytes_give_the_same_module(request: pytest.FixtureRequest) -> None:
    executable = XLA.compile(ELEMENTS)
    data = executable.serialize()
    request.getfixturevalue("no_compiler")
    again = XLA.deserialize(data)
    assert again.signature == executable.signature
    arguments = [np.ones(*each) for each in executable.signature.arguments]
    for ours, theirs in zip(again(*arguments), executable(*arguments), strict=True):
        assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
    assert again.serialize()


def test_a_deserialized_module_loops() -> None:
    loop = XLA.deserialize(XLA.compile(SUM).serialize()).loop({0: 0}, {0: ONES})
    loop(ONES)
    loop(ONES)
    assert loop.state()[0].tolist() == [3.0] * 4


@pytest.mark.parametrize("data", [b"", b"no module", "cut", "changed", "of iree"])
def test_bytes_that_are_no_module_of_xla_are_refused(data: bytes | str) -> None:
    whole = XLA.compile(SUM).serialize()
    kinds = {
        "cut": whole[:-1],
        "changed": whole[:-1] + bytes([whole[-1] ^ 1]),
        "of iree": packed("iree", XLA.compile(SUM).signature, {}, b"code"),
    }
    message = "^xla cannot load these bytes: they are damaged or no module of xla$"
    with pytest.raises(CompileError, match=message):
        XLA.deserialize(kinds[data] if isinstance(data, str) else data)


def test_bytes_of_another_version_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    data = XLA.compile(SUM).serialize()
    monkeypatch.setattr(build, "_versions", lambda: "jax 99")
    message = r"^xla cannot load a module made for versions jax .*, here is jax 99$"
    with pytest.raises(CompileError, match=message):
        XLA.deserialize(data)
