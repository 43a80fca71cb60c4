"""Wide exponentials: double-double enclosures of exp, expm1 and logistic."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, quotient, two_product, two_sum
from topos.payload.kernels.maps_wide import (
    Enclosure,
    Ends,
    ends,
    identity_where,
    patch,
    scaled_ends,
)
from topos.payload.kernels.tables import exponential_table

__all__ = [
    "EXPONENTIAL_ERROR",
    "bracket_exp",
    "bracket_expm1",
    "bracket_logistic",
    "exponential_parts",
    "scaled",
    "small_exp",
    "small_expm1",
]

EXPONENTIAL_ERROR: Final = 2.0**-64
# Adding this number rounds to an integer and leaves it in the last bits of the sum.
_ANCHOR: Final = 1.5 * 2.0**52


def exponential_parts(values: Array, rest: Array | None = None) -> tuple[Array, Array, Array]:
    """Returns h, t and an integer k with e**(x + rest) = (h + t) 2**k, for |x| < 800.

    x = n ln2/4096 + r with |r| < 2**-13.52; the product of n and the first two parts of the step
    are exact, and the first subtraction is by Sterbenz. h is the table's 2**(i/4096), and t
    combines its tail with h (e**r - 1). Relative to h the errors are: 2**-67 in the sum r + r*r/2
    + ..., and 2**-66.5 each in the product by h, in adding the tail, in leaving out the tail's
    own product, and in the rounding of `ends`; together below 2**-64.2, all others being under
    2**-76. A rest below 2**-30 joins r, or its product by r would be missed.
    """
    table = exponential_table()
    first, second, third = table.step
    anchored = values * table.steps_per_unit + _ANCHOR
    count = anchored - _ANCHOR
    bits = anchored.view(np.int64)
    index = bits & 4095
    near, error = two_sum(values - count * first, count * -second)
    slack = error - count * third
    if rest is not None:
        near, slack = two_sum(near, slack + rest)
    square = near * near
    series = square * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120))))
    growth = near + (series + slack)
    head = table.head.take(index)
    return head, head * growth + table.tail.take(index), (bits << 13) >> 25


def scaled(values: Array, power: Array) -> Array:
    """Returns values * 2**power for powers from -1021 to 1024, overflowing as it rounds."""
    # 2**1024 is no float64: half the scale first, doubled after.
    return values * ((power + 1022) << 52).view(np.float64) * 2.0


def bracket_exp(values: Array) -> Ends:
    """Encloses e**x."""
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, -706.0), 711.0))
    low, high = ends(head, tail, head * EXPONENTIAL_ERROR)
    low, high = scaled(low, power), scaled(high, power)
    small = values < -706.0
    if small.any():
        patch((low, high), small, small_exp(values[small]))
    return low, high


def small_exp(values: Array) -> Ends:
    """Encloses e**x for x < -706, which may be subnormal; below -746 it is zero."""
    head, tail, power = exponential_parts(np.maximum(values, -746.0))
    return scaled_ends(Enclosure(head, tail, head * EXPONENTIAL_ERROR), power)


def bracket_expm1(values: Array) -> Ends:
    """Encloses e**x - 1: from e**x, or by a series below 2**-6."""
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, -50.0), 711.0))
    # The one to subtract, in units of 2**power; past 2**-1000 it is far below the error.
    one = ((1023 - np.minimum(power, 1000)) << 52).view(np.float64)
    total, lost = two_sum(head, -one)
    # One more sum in the tail than the error of the exponential covers: 2**-66.5 of the head.
    low, high = ends(total, lost + tail, head * (EXPONENTIAL_ERROR * 1.25))
    low, high = scaled(low, power), scaled(high, power)
    small = np.abs(values) < 2.0**-6
    if small.any():
        near = values[small]
        low[small], high[small] = identity_where(
            np.abs(near) < 2.0**-54, near, *ends(*small_expm1(near))
        )
    return low, high


def small_expm1(values: Array) -> Enclosure:
    """Encloses e**x - 1 for 2**-54 <= |x| <= 2**-6 by x + x*x/2 + x**3/6 + ...

    x*x is exact and the rest, below x**3/5.9, loses 4 u of itself, under 2**-12 u x; the sums
    and the rounding of `ends` lose 3 u of that and 3 u of u x; the cut x**9/9! is 2**-66.4 x.
    """
    square, lost = two_product(values, values)
    series = 1 / 24 + values * (1 / 120 + values * (1 / 720 + values * (1 / 5040 + values / 40320)))
    cube = values * square * (1 / 6 + values * series)
    head, tail = fast_two_sum(values, 0.5 * square)
    magnitude = np.abs(values)
    error = magnitude * (square * 2.0**-52 + 2.0**-70)
    return Enclosure(head, tail + (0.5 * lost + cube), error)


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
        # E is below 2**-1018 of 1 here.
        patch((low, high), small, small_exp(values[small]))
    return low, high
