"""Floating-point formats: their range, and numbers of them in a wider one."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

from topos.runtimes.interpreter.program import Array

# What numpy computes in by itself, and holds every part of.
NATIVE: Final = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


class Limits(NamedTuple):
    """The range of a floating-point format: its unit at 1, least, least normal, largest number."""

    eps: float
    least: float
    normal: float
    largest: float


@cache
def limits_of(dtype: np.dtype[Any]) -> Limits:
    """Returns the range of a dtype's numbers, or of the parts of its complex numbers."""
    part: np.dtype[Any] = dtype
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
    known: Any = ml_dtypes
    info = known.finfo(part)
    numbers = (info.eps, info.smallest_subnormal, info.smallest_normal, info.max)
    return Limits(*map(float, numbers))


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Returns whether a dtype is of floats or of complex numbers."""
    return dtype.kind in "fc" or dtype.name.startswith(("bfloat", "float"))


def unit(dtype: np.dtype[Any]) -> float:
    """Returns the distance from 1 to the next number of a dtype."""
    return limits_of(dtype).eps


def magnitude(array: Array) -> Array:
    """Returns the moduli of numbers as float64."""
    return np.abs(wide(array)).astype(np.float64)


def wide(array: Array) -> Array:
    """Returns numbers as float64 or complex128."""
    number: Array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return number


def has_floats(type: Any) -> bool:
    """Returns whether a type is of a tensor of floats or complex numbers."""
    return getattr(type, "element", "i")[0] in "fbc"


def is_complex(type: Any) -> bool:
    """Returns whether a type is of a tensor of complex numbers."""
    return getattr(type, "element", "i")[0] == "c"
