"""Refined circular maps: enclosures of sin and cos to about 2**-100."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.circle_reduction import LIMBS, reduced
from topos.payload.kernels.double_double import fast_two_sum, two_sum
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends
from topos.payload.kernels.pairs import Pair, pair_product, pair_sum
from topos.payload.kernels.tables_refined import circle_pairs, inverse

__all__ = ["refined_circular", "refined_cos", "refined_sin"]


def refined_sin(values: Array) -> Ends:
    """Encloses sin x for finite |x| >= 2**-28."""
    return ends(*refined_circular(values, 0))


def refined_cos(values: Array) -> Ends:
    """Encloses cos x for finite |x| >= 2**-28."""
    return ends(*refined_circular(values, 128))


def refined_circular(values: Array, turn: int) -> Enclosure:
    """Encloses sin(x + turn pi/256) by sin(a + r) = S + (S (cos r - 1) + C sin r).

    r lacks 2**-106 of itself by the reduction and 5 u*u by its product; sin r adds 2**-103, the
    product by C 5 u*u and both sums 3.1 u*u each: below 2**-101 |r|. S, a table's, lacks 2**-106
    |S|, cos r - 1 adds 2**-104 |S| and the last sum 3.1 u*u |S|: below 2**-102 |S|.
    """
    table = circle_pairs()
    sign = np.copysign(1.0, values)
    count, (head, tail) = reduced(np.abs(values), LIMBS)
    angle = pair_product((head * sign, tail * sign), table.step)
    index = (count * sign.astype(np.int64) + turn) & 511
    across = (index + 128) & 511
    sine = table.sine[0].take(index), table.sine[1].take(index)
    cosine = table.sine[0].take(across), table.sine[1].take(across)
    square = pair_product(angle, angle)
    rise = pair_product(cosine, _sine(angle, square))
    fall = pair_product(sine, _cosine_less_one(square))
    result = pair_sum(sine, pair_sum(rise, fall))
    return Enclosure(*result, (np.abs(sine[0]) + np.abs(angle[0])) * 2.0**-101)


def _sine(angle: Pair, square: Pair) -> Pair:
    """Returns sin r within 2**-103 of it, relatively, for |r| < 2**-7.3.

    It is r - r r**2 (1/6 - r**2 (1/120 - r**2 q)) with q = 1/7! - ... in float64: its 4 u weigh
    r**6/7!.
    """
    near = -square[0]
    quotient = 1 / 5040 + near * (1 / 362880 + near * (1 / 39916800 + near * (1 / 6227020800)))
    series = _series(square, quotient, (120, 6))
    return pair_sum(angle, pair_product(angle, series))


def _cosine_less_one(square: Pair) -> Pair:
    """Returns cos r - 1 within 2**-104, absolutely, for |r| < 2**-7.3.

    It is -r**2 (1/2 - r**2 (1/24 - r**2 q)) with q = 1/6! - ... in float64: its 4 u weigh r**6/6!.
    """
    near = -square[0]
    quotient = 1 / 720 + near * (1 / 40320 + near * (1 / 3628800 + near * (1 / 479001600)))
    return _series(square, quotient, (24, 2))


def _series(square: Pair, quotient: Array, denominators: tuple[int, int]) -> Pair:
    """Returns -s (1/second - s (1/first - s quotient)) for s = `square`."""
    negative = -square[0], -square[1]
    first, second = (inverse(denominator) for denominator in denominators)
    head, lost = two_sum(negative[0] * quotient, first[0])
    series = fast_two_sum(head, lost + first[1])
    series = pair_sum(pair_product(negative, series), second)
    return pair_product(negative, series)
