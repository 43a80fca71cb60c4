"""Wide circular maps: double-double enclosures of sin and cos."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.circle_reduction import reduced
from topos.payload.kernels.double_double import fast_two_sum, halves, two_sum
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends, patch
from topos.payload.kernels.pairs import pair_product
from topos.payload.kernels.tables import circle_table
from topos.payload.kernels.tables_refined import circle_pairs

__all__ = ["bracket_cos", "bracket_sin", "circular", "far_circular"]

_REACH: Final = 2.0**18
_TINY: Final = 2.0**-27
# Five words of 32 bits reduce an argument well enough to leave few lanes open.
_LIMBS: Final = 5


def bracket_sin(values: Array) -> Ends:
    """Encloses sin x; a number below 2**-27 is its own sine."""
    low, high = _enclosed(values, 0)
    tiny = np.abs(values) < _TINY
    if tiny.any():
        low[tiny] = high[tiny] = values[tiny]
    return low, high


def bracket_cos(values: Array) -> Ends:
    """Encloses cos x; below 2**-27 it rounds to 1."""
    low, high = _enclosed(values, 128)
    tiny = np.abs(values) < _TINY
    if tiny.any():
        low[tiny] = high[tiny] = 1.0
    return low, high


def _enclosed(values: Array, turn: int) -> Ends:
    inside = np.abs(values) <= _REACH
    if inside.all():
        return ends(*circular(values, turn))
    low, high = ends(*circular(np.where(inside, values, 0.0), turn))
    outside = ~inside
    finite = np.isfinite(values)
    low[~finite] = np.nan
    far = outside & finite
    patch((low, high), far, ends(*far_circular(values[far], turn)))
    return low, high


def circular(values: Array, turn: int) -> Enclosure:
    """Encloses sin(x + turn pi/256) for |x| <= 2**18.

    x = n pi/256 + r with |n| < 2**25 and |r| < 2**-7.3. The first three products with parts of
    the step are exact; the fourth and what the step lacks leave an error below 2**-108, and none
    where n is 0.
    """
    table = circle_table()
    first, second, third, fourth = table.step
    count = np.rint(values * table.steps_per_unit)
    near, lost = two_sum(values - count * first, count * -second)
    near, more = two_sum(near, count * -third)
    near, slack = fast_two_sum(near, (lost + more) - count * fourth)
    head, tail, error = _turned(count.astype(np.int64) + turn, near, slack)
    return Enclosure(head, tail, error + np.where(count == 0.0, 0.0, 2.0**-108))


def far_circular(values: Array, turn: int) -> Enclosure:
    """Encloses sin(x + turn pi/256) for every finite |x| >= 2**-28.

    The reduction is within 2**-98 of a step, which is below 2**-104.
    """
    sign = np.copysign(1.0, values)
    count, (head, tail) = reduced(np.abs(values), _LIMBS)
    near, slack = pair_product((head * sign, tail * sign), circle_pairs().step)
    head, tail, error = _turned(count * sign.astype(np.int64) + turn, near, slack)
    return Enclosure(head, tail, error + 2.0**-104)


def _turned(count: Array, near: Array, slack: Array) -> Enclosure:
    """Encloses sin(a + r), a = n pi/256, by s + s (cos r - 1) + c r + c (sin r - r).

    c r is exact in its leading part, 26 bits by 26. The terms in r*r lose 4 u of |s| r*r/2, those
    in r**3 5 u of |r|**3/6, the sums of the tail 4 u of both, and the rounding of `ends` one:
    below 2**-50 r*r (|s| + |r|) in all. The terms of 2**-26 s and 2**-26 r lose 2**-75 of the
    larger of s and r, which the result may be smaller than. The error of r is not included.
    """
    table = circle_table()
    index = count & 511
    across = (index + 128) & 511
    sine, sine_tail = table.head.take(index), table.tail.take(index)
    cosine, cosine_tail = table.head.take(across), table.tail.take(across)
    square = near * near
    fall = square * (-0.5 + square * (1 / 24 - square * (1 / 720 - square * (1 / 40320))))
    bend = near * square * (-1 / 6 + square * (1 / 120 - square * (1 / 5040)))
    front, back = halves(near)
    head, rest = two_sum(sine, cosine * front)
    tail = sine_tail + (sine * fall + sine_tail * fall)
    tail = (tail + cosine_tail * (near + bend)) + cosine * (back + (slack + bend))
    size = np.abs(sine) + np.abs(near)
    return Enclosure(head, tail + rest, size * (square * 2.0**-50 + 2.0**-75))
