"""Rounding: the binary formats, and the one step from an exact number to the nearest of them."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from topos.payload.element import bf16, f16, f32, f64


class Format(NamedTuple):
    """An IEEE 754 binary format.

    Its finite numbers are n * 2**e with |n| < 2**precision and e >= quantum, below 2**limit in
    magnitude.
    """

    precision: int
    quantum: int
    limit: int
    dtype: np.dtype[Any]


BINARY64: Final = Format(53, -1074, 1024, f64.dtype)
BINARY32: Final = Format(24, -149, 128, f32.dtype)
BINARY16: Final = Format(11, -24, 16, f16.dtype)
BFLOAT16: Final = Format(8, -133, 128, bf16.dtype)

FORMATS: Final[dict[np.dtype[Any], Format]] = {
    each.dtype: each for each in (BINARY64, BINARY32, BINARY16, BFLOAT16)
}


def nearest(integer: int, exponent: int, target: Format) -> float:
    """Returns integer * 2**exponent rounded once to `target`, ties to even, as a float."""
    magnitude = abs(integer)
    place = max(exponent + magnitude.bit_length() - target.precision, target.quantum)
    shift = place - exponent
    kept = _shifted_to_even(magnitude, shift) if shift > 0 else magnitude << -shift
    beyond = kept.bit_length() + place > target.limit
    result = math.inf if beyond else math.ldexp(kept, place)
    return -result if integer < 0 else result


def _shifted_to_even(magnitude: int, shift: int) -> int:
    kept, half = magnitude >> shift, 1 << (shift - 1)
    dropped = magnitude - (kept << shift)
    upward = dropped > half or (dropped == half and kept & 1)
    return kept + 1 if upward else kept
