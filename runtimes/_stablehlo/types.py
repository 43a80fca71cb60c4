"""The tensor types that the interpreter holds, and numpy's dtype for each of their elements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import ml_dtypes
import numpy as np

from topos.errors import UnsupportedError
from topos.runtimes._stablehlo.syntax import Tensor, Type

__all__ = ["ELEMENTS", "checked", "dtype_of", "extents", "is_float"]

ELEMENTS: Final[Mapping[str, np.dtype[Any]]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "ui64": np.dtype(np.uint64),
    "ui32": np.dtype(np.uint32),
    "ui16": np.dtype(np.uint16),
    "ui8": np.dtype(np.uint8),
    "i1": np.dtype(np.bool_),
}
_FLOATS: Final = frozenset({"f64", "f32", "f16", "bf16"})
# numpy holds no more axes, and no index reaches further.
_MAXIMUM_RANK: Final = 64
_MAXIMUM_SIZE: Final = 2**46


def dtype_of(type: Tensor) -> np.dtype[Any]:
    """Returns the dtype that holds the elements of a checked type."""
    return ELEMENTS[type.element]


def extents(type: Tensor) -> tuple[int, ...]:
    """Returns the shape of a checked type, whose extents are all known."""
    return tuple([extent for extent in type.shape if extent is not None])


def is_float(type: Tensor) -> bool:
    """Returns whether the elements of a checked type are floating-point numbers."""
    return type.element in _FLOATS


def checked(type: Type, line: int) -> Tensor:
    """Returns `type` where it is a static tensor of a known element.

    Raises `UnsupportedError` with the type's spelling and the line for any other.
    """
    if (
        not isinstance(type, Tensor)
        or type.element not in ELEMENTS
        or None in type.shape
        or type.encoding
        or len(type.shape) > _MAXIMUM_RANK
        or math.prod(extent for extent in type.shape if extent) > _MAXIMUM_SIZE
    ):
        raise UnsupportedError(f"line {line}: type {type} is not supported")
    return type
