"""Compiled forms that someone else wrote: refused as bytes, and misses as entries of a cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtimes.require import require
from tests.runtimes.texts import SUM
from topos import runtimes
from topos.errors import ArgumentError, CompileError
from topos.runtimes._compile_cache import sealed, unsealed
from topos.runtimes._packing import LENGTH_SIZE, unpacked

ONES = np.ones(4, np.float32)
FOUR = [[4], "f32"]
FORGED: dict[str, Any] = {
    "a list": [],
    "an origin of a number": {"origin": 5},
    "an origin of a list": {"origin": []},
    "an origin of numbers": {"origin": {"versions": 5, "timeout": 5, "numerics": 5}},
    "an infinite extent": {"results": [[[float("inf")], "f32"]]},
    "a negative extent": {"results": [[[-4], "f32"]]},
    "a true extent": {"results": [[[True], "f32"]]},
    "an extent of 70 bits": {"results": [[[2**70], "f32"]]},
    "too many extents": {"results": [[[1] * 65, "f32"]]},
    "an unknown element": {"arguments": [FOUR, [[4], "f5"]]},
    "no element": {"arguments": [FOUR, [[4], ["f32"]]]},
    "text": b"no JSON \xff",
    "brackets": b"[" * 200_000,
}


def forged(runtime: str, data: bytes, kind: str) -> bytes:
    """Returns `data` with another header, its checksum made anew."""
    payload = unsealed(data, runtime)
    assert payload is not None
    start = LENGTH_SIZE + int.from_bytes(payload[:LENGTH_SIZE], "little")
    change = FORGED[kind]
    if isinstance(change, dict):
        change = json.loads(payload[LENGTH_SIZE:start]) | change
    header = change if isinstance(change, bytes) else json.dumps(change).encode()
    length = len(header).to_bytes(LENGTH_SIZE, "little")
    return sealed(length + header + payload[start:], runtime)


@pytest.fixture(scope="module", params=runtimes.names())
def form(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    require(request.param)
    return request.param, runtimes.load(request.param).compile(SUM).serialize()


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_header_is_no_compiled_form(form: tuple[str, bytes], kind: str) -> None:
    name, data = form
    with pytest.raises(CompileError, match=r"cannot load these bytes: they are damaged or no"):
        runtimes.load(name).deserialize(forged(name, data, kind))


# What opens an entry opens a form, and a miss of iree costs a second.
@pytest.mark.parametrize(
    ("name", "kind"),
    [("xla", "a list"), ("xla", "an unknown element"), ("xla", "text"), ("iree", "text")],
)
def test_an_entry_with_a_forged_header_is_a_miss(tmp_path: Path, name: str, kind: str) -> None:
    require(name)
    runtime = runtimes.load(name)
    runtime.compile(SUM, cache=tmp_path)
    (entry,) = tmp_path.glob("*.topos")
    data = unsealed(entry.read_bytes(), entry.stem)
    assert data is not None
    other = sealed(forged(name, data, kind), entry.stem)
    entry.write_bytes(other)
    assert runtime.compile(SUM, cache=tmp_path)(ONES, ONES)[0].tolist() == [2.0] * 4
    # It was compiled and kept again.
    assert entry.read_bytes() != other


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("interpreter", {}),
        ("interpreter", {"numerics": "loose", "max_steps": ""}),
        ("interpreter", {"numerics": "exact", "max_steps": "many"}),
    ],
)
def test_an_origin_without_what_it_needs_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, origin: dict[str, str]
) -> None:
    require(name)
    runtime = runtimes.load(name)
    monkeypatch.setitem(FORGED, "origin", {"origin": origin})
    data = forged(name, runtime.compile(SUM).serialize(), "origin")
    with pytest.raises(CompileError, match=r"cannot load these bytes: they are damaged or no"):
        runtime.deserialize(data)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_of_every_kind_are_taken(form: tuple[str, bytes], kind: Any) -> None:
    name, data = form
    executable = runtimes.load(name).deserialize(kind(data))
    assert executable(ONES, ONES)[0].tolist() == [2.0] * 4


@pytest.mark.parametrize("data", [None, 5, "text", [1], ONES])
def test_what_is_no_bytes_is_refused(form: tuple[str, bytes], data: Any) -> None:
    message = f"^deserialize needs bytes, got {type(data).__name__}$"
    with pytest.raises(ArgumentError, match=message):
        runtimes.load(form[0]).deserialize(data)


@pytest.mark.parametrize("element", ["i2", "i4", "ui2", "ui4", "f4E2M1FN", "f8E3M4"])
def test_every_element_of_the_interpreter_is_packed(element: str) -> None:
    type = f"tensor<3x{element}>"
    interpreter = runtimes.load("interpreter")
    text = f"func.func @main(%a: {type}) -> {type} {{ return %a : {type} }}"
    executable = interpreter.compile(text)
    data = executable.serialize()
    kept = unpacked("interpreter", data)
    assert kept is not None
    assert kept.signature == executable.signature
    array = np.ones(3).astype(executable.signature.arguments[0].dtype)
    assert interpreter.deserialize(data)(array)[0].tobytes() == array.tobytes()
