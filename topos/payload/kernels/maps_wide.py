"""Wide maps: correct rounding to float64 of double-double enclosures.

Each bracket returns the two ends of an enclosure of the exact result, rounded to float64: where
they are the same number, so is the rounded result. The lanes where they differ (about one in
10**4), and those a bracket leaves open on purpose by a pair of unequal ends, go to integer
arithmetic. A lane whose result is NaN has a NaN in it. u stands for 2**-53, the relative error
of one float64 operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from topos.payload.kernels.double_double import (
    fast_two_sum,
    halves,
    quotient,
    two_product,
    two_sum,
)
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.maps_narrow import settle
from topos.payload.kernels.rounding import BINARY64, Array
from topos.payload.kernels.tables import exponential_table
from topos.payload.kernels.tables_expansion import (
    CENTERS_PER_UNIT,
    DEGREE,
    Expansions,
    erf_expansions,
    tanh_expansions,
)

__all__ = [
    "Bracket",
    "Ends",
    "bracket_erf",
    "bracket_exp",
    "bracket_expm1",
    "bracket_logistic",
    "bracket_rsqrt",
    "bracket_tanh",
    "double",
    "exponential_parts",
    "scaled",
]

Ends = tuple[Array, Array]
Bracket = Callable[[Array], Ends]

CHUNK: Final = 4096
EXPONENTIAL_ERROR: Final = 2.0**-64


def double(exact: ExactMap, bracket: Bracket, values: Array) -> Array:
    """Returns the map of float64 `values`, one contiguous axis."""
    result = np.empty(values.size, np.float64)
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        low, high = bracket(chunk)
        result[start : start + CHUNK] = low
        # A NaN differs from itself, so that one comparison finds every lane to settle.
        open_lanes = low != high
        if open_lanes.any():
            settle(exact, chunk, result[start : start + CHUNK], open_lanes, BINARY64)
    return result


def ends(head: Array, tail: Array, error: Array) -> Ends:
    """Returns both ends of head + tail -+ error; the tail's own rounding is part of `error`."""
    return head + (tail - error), head + (tail + error)


def exponential_parts(values: Array, rest: Array | float = 0.0) -> tuple[Array, Array, Array]:
    """Returns h, t and an integer k with e**(x + rest) = (h + t) 2**k, for |x| < 800.

    x = n ln2/4096 + r with |r| < 2**-13.52; the product of n and the first two parts of the step
    are exact, and the first subtraction is by Sterbenz. h is the table's 2**(i/4096), and t
    combines its tail with h (e**r - 1). Relative to h the errors are: 2**-67 in the sum r + r*r/2
    + ..., and 2**-66.5 each in the product by h, in adding the tail, in leaving out the tail's
    own product, and in the rounding of `ends`; together below 2**-64.2, all others being under
    2**-76. The rest is below 2**-30 and costs nothing more.
    """
    table = exponential_table()
    first, second, third = table.step
    count = np.rint(values * table.steps_per_unit)
    whole = count.astype(np.int64)
    index = whole & 4095
    near, error = two_sum(values - count * first, count * -second)
    slack = (error - count * third) + rest
    square = near * near
    series = square * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120))))
    growth = near + (series + slack)
    head = table.head.take(index)
    return head, head * growth + table.tail.take(index), whole >> 12


def scaled(values: Array, power: Array) -> Array:
    """Returns values * 2**power for powers from -1021 to 1024, overflowing as it rounds."""
    # 2**1024 is no float64: half the scale first, doubled after.
    return values * ((power + 1022) << 52).view(np.float64) * 2.0


def bracket_exp(values: Array) -> Ends:
    """Encloses e**x; results below 2**-1019 stay open, or are zero below -746."""
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, -706.0), 711.0))
    low, high = ends(head, tail, head * EXPONENTIAL_ERROR)
    low, high = scaled(low, power), scaled(high, power)
    small = values < -706.0
    if small.any():
        low[small] = 0.0
        high[small] = np.where(values[small] < -746.0, 0.0, 1.0)
    return low, high


def bracket_expm1(values: Array) -> Ends:
    """Encloses e**x - 1: from e**x, or below 2**-6 from x + x*x/2 + x**3/6 + ...

    In the series x*x is exact and the rest, below x**3/5.9, loses 4 u of itself, under
    2**-12 u x; rounding the tail loses a u of at most x*x/1.9.
    """
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, -50.0), 711.0))
    # The one to subtract, in units of 2**power; past 2**-1000 it is far below the error.
    one = ((1023 - np.minimum(power, 1000)) << 52).view(np.float64)
    error = head * EXPONENTIAL_ERROR
    total, lost = two_sum(head, -one)
    low, high = ends(total, lost + tail, error)
    low, high = scaled(low, power), scaled(high, power)
    small = np.abs(values) < 2.0**-6
    if small.any():
        low[small], high[small] = _small_expm1(values[small])
    return low, high


def _small_expm1(values: Array) -> Ends:
    square, lost = two_product(values, values)
    series = 1 / 24 + values * (1 / 120 + values * (1 / 720 + values * (1 / 5040 + values / 40320)))
    cube = values * square * (1 / 6 + values * series)
    head, tail = fast_two_sum(values, 0.5 * square)
    magnitude = np.abs(values)
    low, high = ends(head, tail + (0.5 * lost + cube), magnitude * (square * 2.0**-52 + 2.0**-70))
    return _identity_where(magnitude < 2.0**-54, values, low, high)


def _identity_where(tiny: Array, values: Array, low: Array, high: Array) -> Ends:
    """Closes the lanes where the map is x to within a quarter of a unit in the last place."""
    return np.where(tiny, values, low), np.where(tiny, values, high)


def bracket_logistic(values: Array) -> Ends:
    """Encloses 1 / (1 + E), or E / (1 + E) below zero, with E = e**-|x|.

    The relative error is that of E at most: times E / (1 + E) above zero, 1 / (1 + E) below.
    """
    head, tail, power = exponential_parts(-np.minimum(np.abs(values), 706.0))
    head, tail = fast_two_sum(head, tail)
    one, lost = two_sum(scaled(head, power), 1.0)
    below = values < 0.0
    top, rest = np.where(below, head, 1.0), np.where(below, tail, 0.0)
    head, tail = quotient(top, rest, one, lost + scaled(tail, power))
    low, high = ends(head, tail, head * EXPONENTIAL_ERROR)
    power = np.where(below, power, 0)
    low, high = scaled(low, power), scaled(high, power)
    small = values < -706.0
    if small.any():
        low[small] = 0.0
        high[small] = np.where(values[small] < -746.0, 0.0, 1.0)
    return low, high


def bracket_rsqrt(values: Array) -> Ends:
    """Encloses 1 / sqrt(x) by one Newton step from y = 1 / sqrt(x), itself within 3 u.

    With d = 1 - x y*y, exact but for u d, the result is y (1 + d/2) within d*d.
    """
    zoom = np.where(values < 2.0**-400, 2.0**600, np.where(values > 2.0**400, 2.0**-600, 1.0))
    inside = values * zoom
    estimate = 1.0 / np.sqrt(inside)
    square, lost = two_product(estimate, estimate)
    product, rest = two_product(inside, square)
    defect = (1.0 - product) - (rest + inside * lost)
    low, high = ends(estimate, estimate * (0.5 * defect), estimate * 2.0**-98)
    root = np.sqrt(zoom)
    low, high = low * root, high * root
    edge = (values == 0.0) | (values == np.inf)
    if edge.any():
        low[edge] = high[edge] = 1.0 / np.sqrt(values[edge])
    return low, high


def bracket_tanh(values: Array) -> Ends:
    """Encloses tanh by its expansions; a number below 2**-28 is its own tanh."""
    low, high = _expanded(values, tanh_expansions())
    tiny = np.abs(values) < 2.0**-28
    return _identity_where(tiny, values, low, high) if tiny.any() else (low, high)


def bracket_erf(values: Array) -> Ends:
    """Encloses erf by its expansions; below 2**-900 in magnitude it stays open."""
    low, high = _expanded(values, erf_expansions())
    tiny = np.abs(values) < 2.0**-900
    if tiny.any():
        low[tiny] = values[tiny]
        high[tiny] = np.where(values[tiny] == 0.0, values[tiny], 1.0)
    return low, high


def _expanded(values: Array, expansions: Expansions) -> Ends:
    """Encloses an odd map f by a0 + a1 h + a2 h**2 + ... about the nearest center, |h| <= 2**-7.

    a1 h is exact in its leading part, 26 bits by 26. For both maps |a2| <= f(c) <= 2 f(x) and
    |a3 h| <= 0.4 f(x), so that all terms from a2 on are below 2.4 h*h f(x); they and the sums
    of the tail lose 6.5 u of that, under 2**-49 h*h f(x). What is cut off and what the tables
    lack stays under 2**-69 f(x).
    """
    coefficients = expansions.coefficients
    magnitude = np.minimum(np.abs(values), expansions.last)
    nearest = np.rint(magnitude * CENTERS_PER_UNIT)
    step = magnitude - nearest * (1.0 / CENTERS_PER_UNIT)
    # A NaN has no center: `clip` gives it some column, and its step stays NaN.
    column = nearest.astype(np.intp)
    total = coefficients[DEGREE].take(column, mode="clip")
    for power in range(DEGREE - 1, 1, -1):
        total *= step
        total += coefficients[power].take(column, mode="clip")
    square = step * step
    total *= square
    front, back = halves(step)
    slope = expansions.slope_head.take(column, mode="clip")
    total += slope * back + expansions.slope_tail.take(column, mode="clip") * step
    total += expansions.value_tail.take(column, mode="clip")
    head, lost = fast_two_sum(coefficients[0].take(column, mode="clip"), slope * front)
    low, high = ends(head, total + lost, head * (square * 2.0**-49 + 2.0**-68))
    return np.copysign(low, values), np.copysign(high, values)
