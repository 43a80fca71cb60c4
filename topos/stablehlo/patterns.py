"""Patterns: floats that are written as the hexadecimal digits of their own bits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.stablehlo.types import ELEMENTS

__all__ = ["digits_of", "number_of"]

_FLOATS: Final = {name: dtype for name, dtype in ELEMENTS.items() if name[0] in "bf"}


def number_of(pattern: int, element: str) -> float | None:
    """Returns the float of the type `element` whose bits are `pattern`, or `None`.

    There is none where `element` is no float or has fewer bits.
    """
    dtype = _FLOATS.get(element)
    if dtype is None or not 0 <= pattern < 1 << _width(dtype):
        return None
    with np.errstate(all="ignore"):
        return float(_bits(pattern, dtype).view(dtype)[0])


def digits_of(number: float, element: str) -> str:
    """Returns the bits of `number` as a float of the type `element`, f64 where that is none."""
    dtype = _FLOATS.get(element, np.dtype(np.float64))
    with np.errstate(all="ignore"):
        pattern = int(np.array([number]).astype(dtype).view(f"u{dtype.itemsize}")[0])
    return f"0x{pattern:0{2 * dtype.itemsize}X}"


def _width(dtype: np.dtype[Any]) -> int:
    return 8 * dtype.itemsize


def _bits(pattern: int, dtype: np.dtype[Any]) -> Any:
    return np.array([pattern], np.dtype(f"u{dtype.itemsize}"))
