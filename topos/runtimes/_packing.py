"""A compiled module as bytes: its signature and origin as JSON, then the machine code.

Nothing in it is pickled, and a checksum covers all of it. The code is trusted as a program is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from topos.errors import ArgumentError, CompileError
from topos.runtimes._compile_cache import sealed, unsealed
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.stablehlo.types import ELEMENTS

LENGTH_SIZE: Final = 4
NAMES: Final = {dtype: name for name, dtype in ELEMENTS.items()}
# numpy's own bounds of a shape.
MAXIMUM_RANK: Final = 64
MAXIMUM_EXTENT: Final = 2**63 - 1


class Packed(NamedTuple):
    """What was packed; `origin` tells the versions and the machine that made `code`."""

    signature: ModuleSignature
    origin: dict[str, str]
    code: bytes


def packed(
    runtime: str, signature: ModuleSignature, origin: Mapping[str, str], code: bytes
) -> bytes:
    """Returns the bytes that `unpacked` reads back for the same runtime."""
    arguments, results = ([[*_described(each)] for each in types] for types in signature)
    header = {"arguments": arguments, "results": results, "origin": dict(origin)}
    told = json.dumps(header).encode()
    return sealed(len(told).to_bytes(LENGTH_SIZE, "little") + told + code, runtime)


def unpacked(runtime: str, data: bytes | bytearray | memoryview) -> Packed | None:
    """Returns what was packed for `runtime`, or None where `data` is damaged or anything else.

    Raises `ArgumentError` where `data` is no bytes.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ArgumentError(f"deserialize needs bytes, got {type(data).__name__}")
    payload = unsealed(bytes(data), runtime)
    if payload is None:
        return None
    start = LENGTH_SIZE + int.from_bytes(payload[:LENGTH_SIZE], "little")
    try:
        header = json.loads(payload[LENGTH_SIZE:start])
        signature = ModuleSignature(_types(header["arguments"]), _types(header["results"]))
        return Packed(signature, _texts(header["origin"]), payload[start:])
    # A checksum does not say who wrote the rest: it may even nest deeper than Python reads.
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def restored(
    runtime: str, data: bytes | bytearray | memoryview, origin: Mapping[str, str]
) -> Packed:
    """Returns what was packed for `runtime` by such versions on such a machine.

    Raises `CompileError` where it is damaged, anything else, or of another origin.
    """
    kept = unpacked(runtime, data)
    if kept is None:
        raise CompileError(
            f"{runtime} cannot load these bytes: they are damaged or no module of {runtime}"
        )
    for part, own in origin.items():
        if kept.origin.get(part) != own:
            made = f"a module made for {part} {kept.origin.get(part)}, here is {own}"
            raise CompileError(f"{runtime} cannot load {made}")
    return kept


def _described(type: ArrayType) -> tuple[list[int], str]:
    return [*type.shape], NAMES[type.dtype]


def _types(described: list[Any]) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(_extents(shape), ELEMENTS[name]) for shape, name in described)


def _extents(shape: list[Any]) -> tuple[int, ...]:
    for extent in shape:
        if type(extent) is not int or not 0 <= extent <= MAXIMUM_EXTENT:
            raise ValueError(f"a shape needs whole numbers from 0 on, got {extent!r}")
    if len(shape) > MAXIMUM_RANK:
        raise ValueError(f"a shape needs at most {MAXIMUM_RANK} extents, got {len(shape)}")
    return tuple(shape)


def _texts(origin: object) -> dict[str, str]:
    if not isinstance(origin, dict) or not all(isinstance(each, str) for each in origin.values()):
        raise ValueError("an origin needs texts by name")
    return origin
