"""Refined logarithms: enclosures of ln and log1p to about 2**-102."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, two_product, two_sum
from topos.payload.kernels.maps_logarithm import raised_subnormals
from topos.payload.kernels.maps_wide import Ends, ends
from topos.payload.kernels.pairs import Pair, pair_product, pair_sum
from topos.payload.kernels.tables import logarithm_table
from topos.payload.kernels.tables_refined import inverse, logarithm_pairs

__all__ = [
    "REFINED_LOGARITHM_ERROR",
    "logarithm_pair",
    "refined_ln",
    "refined_log1p",
]

REFINED_LOGARITHM_ERROR: Final = 2.0**-102
_FRACTION = (1 << 52) - 1
_ONE = 0x3FF << 52


def logarithm_pair(values: Array, rest: Array | None, lift: Array | int) -> Pair:
    """Returns ln((x + rest) / 2**lift) within 2**-102.5 of it, relatively, for normal x > 0.

    As in the quick phase it is (e ln2 - ln c) + ln(1 + r): the sum of the heads H is exact, zero
    or at least 1.9 times |r|, which is so at most 1.2 times the result. The two rests, below
    2**-32 together, have 4 u*u of themselves; ln(1 + r) is within 2**-104, and both sums lose
    3.1 u*u of what they give.
    """
    table, pairs = logarithm_table(), logarithm_pairs()
    bits = values.view(np.int64)
    exponent = ((bits + ((2048 - table.turn) << 41)) >> 52) - 1023
    count = (exponent - lift).astype(np.float64)
    index = (bits >> 41) & 2047
    fraction = (bits & _FRACTION) | _ONE
    front = (fraction & -0x4000000).view(np.float64)
    reciprocal = table.reciprocal.take(index)
    near = (front * reciprocal - 1.0) + (fraction.view(np.float64) - front) * reciprocal
    argument = near, np.zeros_like(near)
    if rest is not None:
        # Past 2**1000 the rest is far below the error, and 2**-e would be subnormal.
        scale = ((2046 - np.minimum(bits >> 52, 2023)) << 52).view(np.float64)
        argument = pair_sum(two_product(rest * scale, reciprocal), argument)
    two = two_product(count, np.full_like(count, pairs.two[0]))
    two = fast_two_sum(two[0], two[1] + count * pairs.two[1])
    rests = pair_sum((pairs.rest[0].take(index), pairs.rest[1].take(index)), two)
    head = count * table.two[0] + table.head.take(index)
    return pair_sum(pair_sum((head, np.zeros_like(head)), _logarithm_of_one_and(argument)), rests)


def _logarithm_of_one_and(argument: Pair) -> Pair:
    """Returns ln(1 + r) within 2**-104 of it, relatively, for |r| <= 2**-10.9.

    It is r - r**2 (1/2 - r (1/3 - r (1/4 - r (1/5 - r q)))) with q = 1/6 - r/7 + ... in float64:
    its 4 u weigh r**5/6, the products and sums of pairs lose 14 u*u of r/2, the last sum 3.1 u*u
    of all, and the cut r**10/11 is below 2**-112.
    """
    near = -argument[0]
    negative = near, -argument[1]
    quotient = 1 / 6 + near * (1 / 7 + near * (1 / 8 + near * (1 / 9 + near * (1 / 10))))
    head, lost = two_sum(near * quotient, inverse(5)[0])
    series = fast_two_sum(head, lost + inverse(5)[1])
    for integer in (4, 3, 2):
        series = pair_sum(pair_product(negative, series), inverse(integer))
    square = pair_product(argument, negative)
    return pair_sum(argument, pair_product(square, series))


def refined_ln(values: Array) -> Ends:
    """Encloses ln x for finite x > 0."""
    argument, lift = raised_subnormals(values)
    head, tail = logarithm_pair(argument, None, lift)
    return ends(head, tail, np.abs(head) * REFINED_LOGARITHM_ERROR)


def refined_log1p(values: Array) -> Ends:
    """Encloses ln(1 + x) for finite x > -1, |x| >= 2**-54."""
    total, rest = two_sum(values, 1.0)
    head, tail = logarithm_pair(total, rest, 0)
    return ends(head, tail, np.abs(head) * REFINED_LOGARITHM_ERROR)
