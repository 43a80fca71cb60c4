"""Wide maps: correct rounding to float64 of double-double enclosures.

A bracket returns the two ends of an enclosure of the exact result, rounded to float64: where
they are the same number, so is the rounded result. The lanes where they differ (about one in
10**4), and those a bracket leaves open on purpose by a pair of unequal ends, go to integer
arithmetic. A lane whose result is NaN has a NaN in it. In the error bounds of the brackets u
stands for 2**-53, the relative error of one float64 operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.maps_narrow import settle
from topos.payload.kernels.rounding import BINARY64

__all__ = ["CHUNK", "Bracket", "Enclosure", "Ends", "double", "ends", "identity_where"]


class Enclosure(NamedTuple):
    """Exact results as head + tail, within `error` of it absolutely.

    The error covers the rounding of `ends` too, which is u times the tail.
    """

    head: Array
    tail: Array
    error: Array


Ends = tuple[Array, Array]
Bracket = Callable[[Array], Ends]

CHUNK: Final = 4096


def double(exact: ExactMap, bracket: Bracket, values: Array) -> Array:
    """Returns the map of float64 `values`, one contiguous axis."""
    result = np.empty(values.size, np.float64)
    pending: list[Array] = []
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        low, high = bracket(chunk)
        result[start : start + CHUNK] = low
        # A NaN differs from itself, so that one comparison finds every lane to settle.
        open_lanes = low != high
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    settle(exact, values, result, pending, BINARY64)
    return result


def ends(head: Array, tail: Array, error: Array) -> Ends:
    """Returns both ends of an enclosure, head + tail -+ error, rounded to float64."""
    return head + (tail - error), head + (tail + error)


def identity_where(tiny: Array, values: Array, low: Array, high: Array) -> Ends:
    """Closes the lanes where the map is x to within a quarter of a unit in the last place."""
    return np.where(tiny, values, low), np.where(tiny, values, high)
