"""A compiled module as bytes: its signature and origin as JSON, then the machine code.

Nothing in it is pickled, and a checksum covers all of it. The code is trusted as a program is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from topos.runtimes._compile_cache import sealed, unsealed
from topos.runtimes._mlir import DTYPES
from topos.runtimes._signature import ArrayType, ModuleSignature

__all__ = ["Packed", "packed", "unpacked"]

LENGTH_SIZE: Final = 4
NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}


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


def unpacked(runtime: str, data: bytes) -> Packed | None:
    """Returns what was packed for `runtime`, or None where `data` is damaged or anything else."""
    payload = unsealed(data, runtime)
    if payload is None:
        return None
    start = LENGTH_SIZE + int.from_bytes(payload[:LENGTH_SIZE], "little")
    try:
        header = json.loads(payload[LENGTH_SIZE:start])
        signature = ModuleSignature(_types(header["arguments"]), _types(header["results"]))
        return Packed(signature, header["origin"], payload[start:])
    # A checksum does not say who wrote the rest.
    except (ValueError, KeyError, TypeError):
        return None


def _described(type: ArrayType) -> tuple[list[int], str]:
    return [*type.shape], NAMES[type.dtype]


def _types(described: list[Any]) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(tuple(map(int, shape)), DTYPES[name]) for shape, name in described)
