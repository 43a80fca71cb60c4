"""Narrow maps: correct rounding to 32 and 16 bits of a float64 approximation.

A float64 y within 2**-46 of the exact result, relatively, encloses it between y (1 - 2**-46)
and y (1 + 2**-46). Where both ends round to the same number, so does the exact result; the few
lanes left, about one in 10**5, go to integer arithmetic. 2**-46 is 64 units in the last
place or more, well beyond the error of any float64 library numpy is built with (SVML states 4),
so the bits do not depend on which library that is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.rounding import BFLOAT16, BINARY32, Format, round_to_bfloat16

__all__ = [
    "CHUNK",
    "Approximation",
    "narrowed",
    "settle",
    "single",
    "table",
]

Approximation = Callable[[Array], Array]

CHUNK: Final = 16384
_LOW: Final = 1.0 - 2.0**-46
_HIGH: Final = 1.0 + 2.0**-46


def single(exact: ExactMap, approximate: Approximation, values: Array) -> Array:
    """Returns the map of float32 `values`, one contiguous axis."""
    result = np.empty(values.size, np.float32)
    high = np.empty(min(values.size, CHUNK), np.float32)
    pending: list[Array] = []
    for start in range(0, values.size, CHUNK):
        estimate = approximate(values[start : start + CHUNK].astype(np.float64))
        low = result[start : start + CHUNK]
        np.multiply(estimate, _LOW, out=low, casting="same_kind")
        above = np.multiply(estimate, _HIGH, out=high[: low.size], casting="same_kind")
        # A NaN differs from itself, so that one comparison finds every lane to settle.
        open_lanes = low != above
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    settle(exact, values, result, pending, BINARY32)
    return result


def settle(
    exact: ExactMap, values: Array, result: Array, pending: list[Array], target: Format
) -> None:
    """Writes the final bits of the pending lanes, which no enclosure decided."""
    if not pending:
        return
    canonical(result)
    lanes = np.concatenate(pending)
    lanes = lanes[result[lanes] == result[lanes]]
    if lanes.size:
        result[lanes] = exact.each(values[lanes].astype(np.float64), target)


def narrowed(values: Array, target: Format) -> Array:
    """Returns float64 `values` rounded once to `target`."""
    return round_to_bfloat16(values) if target is BFLOAT16 else values.astype(target.dtype)


@functools.cache
def table(exact: ExactMap, approximate: Approximation, target: Format) -> Array:
    """Returns the map of every 16-bit number of `target`, ordered by bit pattern."""
    wide = np.arange(1 << 16, dtype=np.uint16).view(target.dtype).astype(np.float64)
    estimate = approximate(wide)
    low, high = narrowed(estimate * _LOW, target), narrowed(estimate * _HIGH, target)
    settle(exact, wide, low, [np.flatnonzero(low != high)], target)
    low.setflags(write=False)
    return low
