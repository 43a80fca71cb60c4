"""Modules that IREE compiled before: from a cache on disk, and as bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from tests.runtimes.require import require
from tests.runtimes.texts import SUM
from topos.engine import Numerics
from topos.errors import CompileError, ParseError
from topos.runtimes import Executable, load
from topos.runtimes import iree as adapter
from topos.runtimes.iree import executable
from topos.runtimes.iree.process import compiled as built

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

IREE = load("iree")

ONES = np.ones(4, np.float32)


@pytest.fixture(scope="module")
def made() -> list[Any]:
    """What the compiler makes the first time; it takes most of a second."""
    return []


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, made: list[Any]) -> list[Sequence[str]]:
    """The flags of each compilation from now on; each gives what the first gave."""
    seen: list[Sequence[str]] = []

    def counted(find_tool: Any, code: bytes, flags: Sequence[str], seconds: float) -> Any:
        seen.append(flags)
        if not made:
            made.append(built(find_tool, code, flags, seconds))
        return made[0]

    monkeypatch.setattr(adapter, "compiled", counted)
    return seen


def test_a_second_compilation_is_a_read(
    tmp_path: Path, compilations: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = IREE.compile(SUM, cache=tmp_path)
    second = IREE.compile(SUM, cache=tmp_path)
    monkeypatch.setenv("TOPOS_COMPILE_CACHE", str(tmp_path))
    third = IREE.compile(SUM, options={"device": "local-task"})
    assert len(compilations) == 1
    for each in (second, third):
        assert each.signature == first.signature
        assert each.memory() == first.memory()
        assert each(ONES, ONES)[0].tolist() == [2.0] * 4


def test_what_is_compiled_otherwise_is_another_entry(
    tmp_path: Path, compilations: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    IREE.compile(SUM, cache=tmp_path)
    IREE.compile(SUM, cache=tmp_path, numerics=Numerics.EXACT)
    IREE.compile(SUM, cache=tmp_path, options={"iree-opt-level": "O2"})
    IREE.compile(f"{SUM}// Another text.", cache=tmp_path)
    monkeypatch.setattr(adapter, "REVISION", adapter.REVISION + 1)
    IREE.compile(SUM, cache=tmp_path)
    assert len(compilations) == 5
    assert len(list(tmp_path.iterdir())) == 5


def test_an_entry_that_iree_cannot_load_is_a_miss(
    tmp_path: Path, compilations: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = executable.Binary.packed
    damaged = lambda binary: real(binary._replace(code=binary.code[:200]))  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(executable.Binary, "packed", damaged)
        IREE.compile(SUM, cache=tmp_path)
    for _ in range(2):
        assert IREE.compile(SUM, cache=tmp_path)(ONES, ONES)[0].tolist() == [2.0] * 4
    assert len(compilations) == 2


def test_a_text_that_is_refused_leaves_no_entry(tmp_path: Path) -> None:
    with pytest.raises(ParseError):
        IREE.compile("no module", cache=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_warm_start_loads_no_compiler(tmp_path: Path) -> None:
    IREE.compile(SUM, cache=tmp_path)
    program = (
        "import sys, pathlib, numpy as np\nfrom topos.runtimes import load\n"
        f"module = load('iree').compile({SUM!r}, cache=pathlib.Path({str(tmp_path)!r}))\n"
        "assert module(*np.ones((2, 4), np.float32))[0].tolist() == [2.0] * 4\n"
        "assert 'iree.compiler.ir' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def refuse(*_: Any) -> NoReturn:
    raise AssertionError("nothing is compiled here")


@pytest.fixture(scope="module")
def compiled() -> Executable:
    return IREE.compile(SUM)


def test_serialized_code_is_loaded_without_the_text(
    monkeypatch: pytest.MonkeyPatch, compiled: Executable
) -> None:
    data = compiled.bind({0: ONES}).serialize()
    assert data == compiled.serialize()
    monkeypatch.setattr(adapter, "compiled", refuse)
    for options in (None, {"device": "local-task"}):
        again = IREE.deserialize(data, options=options)
        assert again.signature == compiled.signature
        assert again(ONES, ONES)[0].tolist() == [2.0] * 4


def test_bytes_that_are_not_ours_are_refused(
    monkeypatch: pytest.MonkeyPatch, compiled: Executable
) -> None:
    data = compiled.serialize()
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    for wrong in (b"", damaged, data[:-8], load("interpreter").compile(SUM).serialize()):
        with pytest.raises(CompileError, match=r"^iree cannot load these bytes: they are damaged"):
            IREE.deserialize(wrong)
    monkeypatch.setattr(executable, "processor_digest", lambda: "another")
    message = r"^iree cannot load a module made for processor \w+, here is another$"
    with pytest.raises(CompileError, match=message):
        IREE.deserialize(data)


@pytest.mark.parametrize("name", ["interpreter", "reference"])
def test_where_nothing_is_compiled_the_text_is_serialized(name: str) -> None:
    runtime = require(name)
    data = runtime.compile(SUM, numerics=Numerics.EXACT).serialize()
    again = runtime.deserialize(data)
    assert again(ONES, ONES)[0].tolist() == [2.0] * 4
    assert again.serialize() == data
    with pytest.raises(CompileError, match="cannot load these bytes"):
        runtime.deserialize(data[:-1])
    with pytest.raises(CompileError, match=r"has (no options here|the option timeout), got"):
        runtime.deserialize(data, options={"device": "cpu"})
