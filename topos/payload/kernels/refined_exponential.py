"""Refined exponentials: enclosures of exp, expm1, tanh and logistic to about 2**-100."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, two_sum
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends, identity_where, scaled_ends
from topos.payload.kernels.pairs import Pair, pair_product, pair_quotient, pair_sum
from topos.payload.kernels.tables import exponential_table
from topos.payload.kernels.tables_refined import exponential_step, inverse

__all__ = [
    "REFINED_EXPONENTIAL_ERROR",
    "expm1_pair",
    "exponential_pair",
    "refined_exp",
    "refined_expm1",
    "refined_exponential",
    "refined_logistic",
    "refined_tanh",
]

REFINED_EXPONENTIAL_ERROR: Final = 2.0**-102
_LOWEST: Final = -746.0
_HIGHEST: Final = 711.0


def refined_exponential(values: Array, rest: Array | float = 0.0) -> tuple[Pair, Pair, Array]:
    """Returns pairs T and p, and k, with e**(x + rest) = T (1 + p) 2**k, for |x + rest| < 800.

    T is 2**(i/4096) within 2**-106, and just 1 where i is 0. x + rest = n ln2/4096 + r with
    |r| < 2**-13.5 and |n| < 2**22.2, so that the products of n and the first three parts of the
    step are exact; the sum of the tails and what the step lacks leave 2**-116 in r, and nothing
    where n is 0. The rest may be up to 2**-40.
    """
    table = exponential_table()
    first, second, third, fourth = exponential_step()
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
    head, lost = two_sum(near * quotient, inverse(24)[0])
    series = fast_two_sum(head, lost + inverse(24)[1])
    series = pair_sum(pair_product(argument, series), inverse(6))
    series = pair_sum(pair_product(argument, series), inverse(2))
    square = pair_product(argument, argument)
    return pair_sum(argument, pair_product(square, series))


def exponential_pair(values: Array, rest: Array | float = 0.0) -> tuple[Pair, Array]:
    """Returns e**(x + rest) / 2**k within 2**-102 of it, relatively, and k.

    T lacks 2**-106, r 2**-116, p 2**-103 |p|, the product 5 u*u |p| and the sum 3.1 u*u: below
    2**-103.4 of the head, which is at least 1 - 2**-13.
    """
    power_of_two, growth, power = refined_exponential(values, rest)
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
    power_of_two, growth, power = refined_exponential(values)
    # The one to subtract, in units of 2**power; past 2**-1000 it is far below the error.
    one = ((1023 - np.minimum(power, 1000)) << 52).view(np.float64)
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
    scale = ((power + 1023) << 52).view(np.float64)
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
    scale = ((np.maximum(power, -1000) + 1023) << 52).view(np.float64)
    denominator = pair_sum((argument[0] * scale, argument[1] * scale), (1.0, 0.0))
    below = values < 0.0
    numerator = np.where(below, argument[0], 1.0), np.where(below, argument[1], 0.0)
    head, tail = pair_quotient(numerator, denominator)
    error = head * (REFINED_EXPONENTIAL_ERROR + 2.0**-99)
    low, high = scaled_ends(Enclosure(head, tail, error), np.where(below, power, 0))
    tiny = np.abs(values) < 2.0**-25
    return identity_where(tiny, _tiny_logistic(0.25 * values), low, high)


def _tiny_logistic(quarter: Array) -> Array:
    """Returns the rounded 1 / (1 + e**-x) for 0 < |x| < 2**-25, given x/4.

    It is 1/2 + x/4 - d with 0 < d/x < 2**-55, and so strictly between 1/2 + x/4 and 1/2 + y,
    where y is the next number nearer to 0. No midpoint is in between: it rounds as the first, or
    as the second where the first is a midpoint, half way from one rounded sum to the other.
    """
    first, rest = two_sum(quarter, 0.5)
    second = 0.5 + np.nextafter(quarter, 0.0)
    return np.where(2.0 * np.abs(rest) == np.abs(second - first), second, first)
