"""Small elements: kernels over the ml_dtypes formats, computed in wider ones.

Floats of eight bits and fewer compute in float32 and round once more; f8E8M0FNU, whose range is
that of float32, in float64. Integers of four bits and two compute in eight and wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels.conversion import convert, rounded
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.types import ELEMENTS, width

__all__ = ["NARROW_INTEGERS", "SMALL_FLOATS", "narrow", "of_bits", "through_float", "widened"]

NARROW_INTEGERS: Final = frozenset({"i4", "i2", "ui4", "ui2"})
# Each with the format it computes in.
SMALL_FLOATS: Final[Mapping[str, np.dtype[Any]]] = {
    **{
        name: np.dtype(np.float32) for name in ELEMENTS if name.startswith("f") and width(name) <= 8
    },
    "f8E8M0FNU": np.dtype(np.float64),
}
# From here on a map is a table of all its values.
_MANY: Final = 512
_CARRIERS: Final = {
    ELEMENTS[name]: np.dtype(np.uint8 if name.startswith("u") else np.int8)
    for name in NARROW_INTEGERS
}


def through_float(kernel: Kernel, element: str) -> Kernel:
    """Returns `kernel`, of a wide format, for the small float `element`."""
    return partial(_through_float, kernel, SMALL_FLOATS[element], ELEMENTS[element])


def _through_float(
    kernel: Kernel, wide: np.dtype[Any], small: np.dtype[Any], *arrays: Array
) -> Array:
    if len(arrays) == 1 and arrays[0].size > _MANY:
        patterns = np.arange(256, dtype=np.uint8).view(small)
        table = _through_float(kernel, wide, small, patterns)
        return table.take(arrays[0].view(np.uint8))
    result = np.asarray(kernel(*[array.astype(wide) for array in arrays]))
    return convert(rounded(result, wide), small)


def widened(array: Array) -> Array:
    """Returns integers of fewer than eight bits as those of eight; others as they are."""
    carrier = _CARRIERS.get(array.dtype)
    return array if carrier is None else array.astype(carrier)


def narrow(kernel: Kernel, element: str) -> Kernel:
    """Returns `kernel`, of eight bits, for the integer `element`; the result wraps."""
    return partial(_narrow, kernel, ELEMENTS[element])


def _narrow(kernel: Kernel, small: np.dtype[Any], *arrays: Array) -> Array:
    return np.asarray(kernel(*map(widened, arrays))).astype(small)


def of_bits(kernel: Kernel, element: str) -> Kernel:
    """Returns `kernel`, of eight unsigned bits, for the bits of the integer `element`."""
    return partial(_of_bits, kernel, (1 << width(element)) - 1, ELEMENTS[element])


def _of_bits(kernel: Kernel, mask: int, small: np.dtype[Any], *arrays: Array) -> Array:
    bits = [widened(array).view(np.uint8) & np.uint8(mask) for array in arrays]
    return np.asarray(kernel(*bits)).astype(small)
