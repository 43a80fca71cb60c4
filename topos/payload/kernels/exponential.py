"""Exponential maps: enclosures of exp, expm1 and logistic, and the refined one of tanh.

Both phases take a power of two from a table of 4096 steps, and e**r of the small rest by a series.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import (
    Pair,
    fast_two_sum,
    pair_product,
    pair_quotient,
    pair_sum,
    quotient,
    two_product,
    two_sum,
    two_to,
)
from topos.payload.kernels.exact_series import exponential, natural_log_of_two, shifted
from topos.payload.kernels.mapping import Enclosure, Ends, ends, patch, scaled_ends
from topos.payload.kernels.tables import PLACES, columns, pair_series, parts

EXPONENTIAL_ERROR: Final = 2.0**-64
REFINED_EXPONENTIAL_ERROR: Final = 2.0**-102
# e**-746 rounds to zero and e**711 overflows; below e**-706 it may be subnormal.
_LOWEST: Final = -746.0
_HIGHEST: Final = 711.0
_NORMAL: Final = -706.0
# Adding this number rounds to an integer and leaves it in the last bits of the sum.
_ANCHOR: Final = 1.5 * 2.0**52


class ExponentialTable(NamedTuple):
    """2**(i/4096) as head + tail, and the step ln2/4096 in parts, all but the last of 30 bits."""

    head: Array
    tail: Array
    step: tuple[float, ...]
    refined_step: tuple[float, ...]
    steps_per_unit: float


@cache
def exponential_table() -> ExponentialTable:
    """Returns the table of the 4096 binary fractions of a power of two."""
    two = natural_log_of_two(PLACES + 36)
    coarse = [_power_of_two(two, i << 6) for i in range(64)]
    fine = [_power_of_two(two, i) for i in range(64)]
    head, tail = columns(parts(shifted(a * b, -PLACES), 53, 53) for a in coarse for b in fine)
    one = shifted(two, -48)
    step = parts(one, 30, 30, 53)
    return ExponentialTable(head, tail, step, parts(one, 30, 30, 30, 53), 1.0 / sum(step))


def _power_of_two(two: int, index: int) -> int:
    scaled, power = exponential(shifted(two * index, -24), PLACES)
    return shifted(scaled, power)


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
    return values * two_to(power - 1) * 2.0


def _scaled_ends(both: Ends, power: Array, small: Array, values: Array) -> Ends:
    """Returns normal ends times 2**power, and the ends of e**x where it is `small`."""
    low, high = (scaled(each, power) for each in both)
    if small.any():
        head, tail, power = exponential_parts(np.maximum(values[small], _LOWEST))
        error = head * EXPONENTIAL_ERROR
        patch((low, high), small, *scaled_ends(Enclosure(head, tail, error), power))
    return low, high


def bracket_exp(values: Array) -> Ends:
    """Encloses e**x."""
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, _NORMAL), _HIGHEST))
    both = ends(head, tail, head * EXPONENTIAL_ERROR)
    return _scaled_ends(both, power, values < _NORMAL, values)


def bracket_expm1(values: Array) -> Ends:
    """Encloses e**x - 1: from e**x, or by a series below 2**-6."""
    head, tail, power = exponential_parts(np.minimum(np.maximum(values, -50.0), _HIGHEST))
    total, lost = two_sum(head, -_one_in_units_of(power))
    # One more sum in the tail than the error of the exponential covers: 2**-66.5 of the head.
    low, high = ends(total, lost + tail, head * (EXPONENTIAL_ERROR * 1.25))
    low, high = scaled(low, power), scaled(high, power)
    small = np.abs(values) < 2.0**-6
    if small.any():
        near = values[small]
        tiny = np.abs(near) < 2.0**-54
        patch((low, high), small, *patch(ends(*small_expm1(near)), tiny, near[tiny]))
    return low, high


def _one_in_units_of(power: Array) -> Array:
    """Returns 2**-power, the one to subtract; past 2**-1000 it is far below the error."""
    return two_to(-np.minimum(power, 1000))


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
    head, tail, power = exponential_parts(-np.minimum(np.abs(values), -_NORMAL))
    head, tail = fast_two_sum(head, tail)
    one, lost = two_sum(scaled(head, power), 1.0)
    below = values < 0.0
    top, rest = np.where(below, head, 1.0), np.where(below, tail, 0.0)
    head, tail = quotient(top, rest, one, lost + scaled(tail, power))
    both = ends(head, tail, head * EXPONENTIAL_ERROR)
    # Where E is small it is below 2**-1018 of 1.
    return _scaled_ends(both, np.where(below, power, 0), values < _NORMAL, values)


def _refined(values: Array, rest: Array | float = 0.0) -> tuple[Pair, Pair, Array]:
    """Returns pairs T and p, and k, with e**(x + rest) = T (1 + p) 2**k, for |x + rest| < 800.

    T is 2**(i/4096) within 2**-106, and just 1 where i is 0. x + rest = n ln2/4096 + r with
    |r| < 2**-13.5 and |n| < 2**22.2, so that the products of n and the first three parts of the
    step are exact; the sum of the tails and what the step lacks leave 2**-116 in r, and nothing
    where n is 0. The rest may be up to 2**-40.
    """
    table = exponential_table()
    first, second, third, fourth = table.refined_step
    count = np.rint(values * table.steps_per_unit)
    near, lost = two_sum(values - count * first, count * -second)
    near, more = two_sum(near, count * -third)
    near, last = two_sum(near, rest)
    near, slack = two_sum(near, (lost + more) - count * fourth + last)
    whole = count.astype(np.int64)
    index = whole & 4095
    return (table.head.take(index), table.tail.take(index)), _growth((near, slack)), whole >> 12


def _growth(argument: Pair) -> Pair:
    """Returns e**r - 1 within 2**-103 of it, relatively, for |r| < 2**-13.5.

    It is r + r**2 (1/2 + r (1/6 + r (1/24 + r q))) with q = 1/120 + r/720 + ... in float64: its
    4 u weigh r**4/120, the products and sums of pairs lose 14 u*u of r/2, the last sum 3.1 u*u of
    all, and the cut r**8/9! is below 2**-126.
    """
    near = argument[0]
    quotient = 1 / 120 + near * (1 / 720 + near * (1 / 5040 + near * (1 / 40320)))
    series = pair_series(argument, quotient, (24, 6, 2))
    square = pair_product(argument, argument)
    return pair_sum(argument, pair_product(square, series))


def exponential_pair(values: Array, rest: Array | float = 0.0) -> tuple[Pair, Array]:
    """Returns e**(x + rest) / 2**k within 2**-102 of it, relatively, and k.

    T lacks 2**-106, r 2**-116, p 2**-103 |p|, the product 5 u*u |p| and the sum 3.1 u*u: below
    2**-103.4 of the head, which is at least 1 - 2**-13.
    """
    power_of_two, growth, power = _refined(values, rest)
    return pair_sum(power_of_two, pair_product(power_of_two, growth)), power


def refined_exp(values: Array) -> Ends:
    """Encloses e**x."""
    (head, tail), power = exponential_pair(np.minimum(np.maximum(values, _LOWEST), _HIGHEST))
    return scaled_ends(Enclosure(head, tail, head * REFINED_EXPONENTIAL_ERROR), power)


def expm1_pair(values: Array) -> tuple[Enclosure, Array]:
    """Encloses (e**x - 1) / 2**k for -50 <= x <= 711, and returns k.

    It is (T - 2**-k) + T p. The difference is exact but for T's own 2**-106 and for the rounding
    of its tail, at most 2**-106 of the larger of both; where x is less than half a step it is 0
    and the result p itself, within 2**-102 relatively.
    """
    power_of_two, growth, power = _refined(values)
    one = _one_in_units_of(power)
    distance, lost = two_sum(power_of_two[0], -one)
    difference = fast_two_sum(distance, lost + power_of_two[1])
    head, tail = pair_sum(difference, pair_product(power_of_two, growth))
    size = np.where(distance == 0.0, 0.0, np.maximum(power_of_two[0], one))
    error = np.abs(head) * REFINED_EXPONENTIAL_ERROR + size * 2.0**-104
    return Enclosure(head, tail, error), power


def refined_expm1(values: Array) -> Ends:
    """Encloses e**x - 1 for |x| >= 2**-54."""
    enclosure, power = expm1_pair(np.minimum(np.maximum(values, -50.0), _HIGHEST))
    head, tail, error = enclosure
    sign = np.copysign(1.0, head)
    low, high = scaled_ends(Enclosure(head * sign, tail * sign, error), power)
    return low * sign, high * sign


def refined_tanh(values: Array) -> Ends:
    """Encloses tanh x = m / (m + 2) with m = e**2|x| - 1, for |x| >= 2**-28.

    The relative error is at most that of m, and 2**-99 for the sum and the quotient.
    """
    enclosure, power = expm1_pair(2.0 * np.minimum(np.abs(values), 20.0))
    scale = two_to(power)
    argument = enclosure.head * scale, enclosure.tail * scale
    head, tail = pair_quotient(argument, pair_sum(argument, (2.0, 0.0)))
    error = head * (enclosure.error / enclosure.head * 1.01 + 2.0**-99)
    low, high = ends(head, tail, error)
    return np.copysign(low, values), np.copysign(high, values)


def refined_logistic(values: Array) -> Ends:
    """Encloses 1 / (1 + E), or E / (1 + E) below zero, with E = e**-|x|.

    The relative error is that of E at most, and 2**-99 for the sum and the quotient.
    """
    argument, power = exponential_pair(np.maximum(-np.abs(values), _LOWEST))
    # Below 2**-1000, which stands for less, E does not matter to the denominator.
    scale = two_to(np.maximum(power, -1000))
    denominator = pair_sum((argument[0] * scale, argument[1] * scale), (1.0, 0.0))
    below = values < 0.0
    numerator = np.where(below, argument[0], 1.0), np.where(below, argument[1], 0.0)
    head, tail = pair_quotient(numerator, denominator)
    error = head * (REFINED_EXPONENTIAL_ERROR + 2.0**-99)
    both = scaled_ends(Enclosure(head, tail, error), np.where(below, power, 0))
    tiny = np.abs(values) < 2.0**-25
    return patch(both, tiny, _tiny_logistic(0.25 * values[tiny]))


def _tiny_logistic(quarter: Array) -> Array:
    """Returns the rounded 1 / (1 + e**-x) for 0 < |x| < 2**-25, given x/4.

    It is 1/2 + x/4 - d with 0 < d/x < 2**-55, and so strictly between 1/2 + x/4 and 1/2 + y,
    where y is the next number nearer to 0. No midpoint is in between: it rounds as the first, or
    as the second where the first is a midpoint, half way from one rounded sum to the other.
    """
    first, rest = two_sum(quarter, 0.5)
    second = 0.5 + np.nextafter(quarter, 0.0)
    return np.where(2.0 * np.abs(rest) == np.abs(second - first), second, first)
