"""The folder of compiled modules: hits, misses that never raise, and its bound."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from topos.errors import ArgumentError
from topos.runtimes import _compile_cache
from topos.runtimes._compile_cache import CompileCache, cache_at, demand_folder, entry_key

KEY, OTHER = "a" * 64, "b" * 64


def only_entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_an_entry_is_read_back_and_others_are_misses(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "made" / "here")
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
    assert cache.get(OTHER) is None
    assert (tmp_path / "made" / "here").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", [0, 20, 60, -1])
def test_an_altered_byte_is_a_miss(tmp_path: Path, place: int) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, b"code of some length")
    data = bytearray(only_entry(tmp_path).read_bytes())
    data[place] ^= 1
    only_entry(tmp_path).write_bytes(data)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("kept", [0, 5, 40, 55])
def test_half_an_entry_is_a_miss(tmp_path: Path, kept: int) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, b"code of some length")
    only_entry(tmp_path).write_bytes(only_entry(tmp_path).read_bytes()[:kept])
    assert cache.get(KEY) is None


def test_an_entry_under_the_name_of_another_is_a_miss(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, b"code")
    only_entry(tmp_path).rename(tmp_path / f"{OTHER}.topos")
    assert cache.get(OTHER) is None


def test_an_entry_of_another_user_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, b"code")
    os.chown(only_entry(tmp_path), os.getuid() or 12345, -1)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert cache.get(KEY) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes have names here")
def test_a_pipe_under_the_name_of_an_entry_is_a_miss(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    os.mkfifo(tmp_path / f"{KEY}.topos")
    reader = threading.Thread(target=cache.get, args=(KEY,), daemon=True)
    reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


@pytest.mark.parametrize("kind", ["folder", "link", "link to itself", "link to a device"])
def test_what_is_no_regular_file_is_a_miss(tmp_path: Path, kind: str) -> None:
    cache, elsewhere = CompileCache(tmp_path / "here"), CompileCache(tmp_path / "there")
    for each in (cache, elsewhere):
        each.put(KEY, b"code")
    entry = only_entry(tmp_path / "here")
    entry.unlink()
    targets: dict[str, Path | str] = {
        "link": only_entry(tmp_path / "there"),
        "link to itself": entry,
        "link to a device": "/dev/zero",
    }
    if kind == "folder":
        entry.mkdir()
    else:
        entry.symlink_to(targets[kind])
    assert cache.get(KEY) is None
    if kind != "folder":
        cache.put(KEY, b"again")
        assert cache.get(KEY) == b"again"
        assert elsewhere.get(KEY) == b"code"


def test_an_entry_larger_than_the_whole_is_a_miss(tmp_path: Path) -> None:
    CompileCache(tmp_path).put(KEY, bytes(1000))
    assert CompileCache(tmp_path, largest_total=1000).get(KEY) is None
    assert CompileCache(tmp_path, largest_total=2000).get(KEY) == bytes(1000)


def test_a_link_without_end_stops_no_pruning(tmp_path: Path) -> None:
    link = tmp_path / "c.topos"
    link.symlink_to(link)
    cache = CompileCache(tmp_path, largest_total=1500)
    for key in (KEY, OTHER):
        cache.put(key, bytes(1000))
    assert cache.get(KEY) is None
    assert cache.get(OTHER) == bytes(1000)


@pytest.mark.parametrize("folder", ["file", "file/below", "zero\0"])
def test_a_folder_that_cannot_be_one_keeps_nothing(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    cache = CompileCache(tmp_path / folder)
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None


def test_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, largest_total=4000)
    for age, key in enumerate("cde"):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / f"{key}.topos", (100 + age, 100 + age))
    assert cache.get("c") is not None
    cache.put("f", bytes(1000))
    assert {path.name for path in tmp_path.iterdir()} == {"c.topos", "e.topos", "f.topos"}


def test_what_is_larger_than_the_whole_is_not_kept(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, largest_total=1000)
    cache.put(KEY, b"small")
    cache.put(OTHER, bytes(1000))
    assert cache.get(KEY) == b"small"
    assert cache.get(OTHER) is None


def test_what_a_killed_process_left_goes(tmp_path: Path) -> None:
    old, new = tmp_path / ".old.part", tmp_path / ".new.part"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    CompileCache(tmp_path).put(KEY, b"code")
    assert not old.exists()
    assert new.exists()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    cache = CompileCache(tmp_path)
    monkeypatch.setattr(os, "replace", full)
    cache.put(KEY, b"code")
    assert not [*tmp_path.iterdir()]


def test_readers_beside_writers_see_whole_entries(tmp_path: Path) -> None:
    cache, payloads = CompileCache(tmp_path), [bytes([each]) * 100_000 for each in range(4)]
    cache.put(KEY, payloads[0])
    seen = set()

    def write(own: bytes) -> None:
        for _ in range(20):
            cache.put(KEY, own)

    writers = [threading.Thread(target=write, args=(each,)) for each in payloads]
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers):
        seen.add(cache.get(KEY))
    assert seen <= {*payloads}


def test_the_environment_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOPOS_COMPILE_CACHE", raising=False)
    assert cache_at(None) is None
    monkeypatch.setenv("TOPOS_COMPILE_CACHE", str(tmp_path))
    named, given = cache_at(None), cache_at(tmp_path / "given")
    assert named is not None
    assert given is not None
    assert (named.folder, given.folder) == (tmp_path, tmp_path / "given")


def test_a_folder_is_a_path() -> None:
    with pytest.raises(ArgumentError, match=r"^cache needs the path of a folder, got 5$"):
        cache_at(5)  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_one_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    monkeypatch.setenv("TOPOS_COMPILE_CACHE", str(file / "below"))
    for given, path in ((file, file), (None, file / "below")):
        with pytest.warns(RuntimeWarning, match="cannot be a folder, and keeps nothing") as told:
            kept = cache_at(given)
        assert repr(str(path)) in str(told[0].message)
        assert kept is not None
        kept.put(KEY, b"code")
        assert kept.get(KEY) is None
        # Warnings are errors here, so a second one would raise.
        cache_at(given)
    with pytest.raises(ArgumentError, match=r"^cache needs a folder, and '.*file' cannot be one: "):
        demand_folder(file)
    demand_folder(tmp_path / "new" / "one")
    assert (tmp_path / "new" / "one").is_dir()


def test_a_folder_that_takes_nothing_new_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CompileCache(tmp_path).put(KEY, b"code")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.warns(RuntimeWarning, match="cannot be written, and keeps nothing new"):
        kept = cache_at(tmp_path)
    assert kept is not None
    assert kept.get(KEY) == b"code"


def test_a_key_tells_apart_all_that_compiling_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[str]:
        return [
            entry_key("xla", b"module", {"a": 1}, "1.0"),
            entry_key("iree", b"module", {"a": 1}, "1.0"),
            entry_key("xla", b"module2", {"a": 1}, "1.0"),
            entry_key("xla", b"module", {"a": "1"}, "1.0"),
            entry_key("xla", b"module", {"a": 1, "b": 2}, "1.0"),
            entry_key("xla", b"module", {"a": 1}, "1.1"),
        ]

    here = keys()
    assert here == keys()
    monkeypatch.setattr(_compile_cache, "processor", lambda: "another")
    assert len({*here, *keys()}) == 12
