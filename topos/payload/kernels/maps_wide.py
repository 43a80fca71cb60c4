"""Wide maps: correct rounding to float64 of double-double enclosures, in two phases.

A bracket returns the two ends of an enclosure of the exact result, rounded to float64: where
they are the same number, so is the rounded result. The quick bracket is within about 2**-65 of
the result; the lanes where its ends differ, about one in 10**4, go to the refined bracket,
which is within about 2**-100, and what is open then (a result that is all but a midpoint) to
integer arithmetic. A lane whose result is NaN has a NaN in it. In the error bounds of the
brackets u stands for 2**-53, the relative error of one float64 operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.maps_narrow import settle
from topos.payload.kernels.rounding import BINARY64

__all__ = [
    "CHUNK",
    "Bracket",
    "Enclosure",
    "Ends",
    "double",
    "ends",
    "identity_where",
    "patch",
    "refine",
    "scaled_ends",
]


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
# One refined bracket is 150 calls of numpy; so many lanes cost integer arithmetic as much time.
_FEW: Final = 8


def double(exact: ExactMap, quick: Bracket, refined: Bracket, values: Array) -> Array:
    """Returns the map of float64 `values`, one contiguous axis."""
    result = np.empty(values.size, np.float64)
    pending: list[Array] = []
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        low, high = quick(chunk)
        result[start : start + CHUNK] = low
        # A NaN differs from itself, so that one comparison finds every lane to settle.
        open_lanes = low != high
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    if pending:
        lanes = np.concatenate(pending)
        lanes = lanes[result[lanes] == result[lanes]]
        lanes = refine(refined, (values,), result, lanes)
        settle(exact, values, result, [lanes], BINARY64)
    return result


def refine(
    refined: Callable[..., Ends], arguments: tuple[Array, ...], result: Array, lanes: Array
) -> Array:
    """Writes the results of the lanes that `refined` decides and returns the other lanes."""
    if lanes.size < _FEW:
        return lanes
    still_open = [lanes[:0]]
    for start in range(0, lanes.size, CHUNK):
        chunk = lanes[start : start + CHUNK]
        low, high = refined(*(argument[chunk] for argument in arguments))
        result[chunk] = low
        still_open.append(chunk[low != high])
    return np.concatenate(still_open)


def ends(head: Array, tail: Array, error: Array) -> Ends:
    """Returns both ends of an enclosure, head + tail -+ error, rounded to float64."""
    return head + (tail - error), head + (tail + error)


def identity_where(tiny: Array, values: Array, low: Array, high: Array) -> Ends:
    """Closes the lanes of tiny arguments where the map is known to round to `values`."""
    return np.where(tiny, values, low), np.where(tiny, values, high)


def patch(target: Ends, where: Array, source: Ends) -> None:
    """Writes the ends of the lanes `where` in place."""
    for each, written in zip(target, source, strict=True):
        each[where] = written


def scaled_ends(enclosure: Enclosure, power: Array) -> Ends:
    """Returns both ends times 2**power, rounded once, also where they are subnormal.

    Heads are zero or positive, powers from -1100 to 1024. The quantum of subnormal numbers is
    q = 2**(-1074 - power) at the scale of the head. Adding A = 2**52 q to a head below A rounds
    it to a multiple of q; the rest, at most q/2, joins the tail, at most q/2 too, and both sums
    there round by less than A 2**-105. All scalings are exact or overflow.
    """
    anchor = (np.maximum(1 - power, 0) << 52).view(np.float64)
    head, tail = fast_two_sum(enclosure.head, enclosure.tail)
    anchor = np.where(head < anchor, anchor, 0.0)
    head, rest = fast_two_sum(anchor, head)
    low, high = ends(head, rest + tail, enclosure.error + anchor * 2.0**-104)
    # 2**1024 is no float64, nor is 2**-1080: scale twice.
    half = power >> 1
    first, second = (((each + 1023) << 52).view(np.float64) for each in (half, power - half))
    return (low - anchor) * first * second, (high - anchor) * first * second
