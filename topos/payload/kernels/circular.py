"""Circular maps: enclosures of sin and cos, quick and refined, and the reduction of the circle.

Source of the reduction: Payne and Hanek, Radian reduction for trigonometric functions (1983). Of
the binary fraction 256/pi only a window of bits matters to x 256/pi modulo 512: those before it
add whole turns, those after it little.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import (
    Pair,
    fast_two_sum,
    halves,
    pair_product,
    pair_sum,
    two_sum,
)
from topos.payload.kernels.exact_series import cosine, half_pi, shifted, sine
from topos.payload.kernels.mapping import Enclosure, Ends, ends, patch
from topos.payload.kernels.tables import PLACES, columns, pair_series, pairs, parts

# The sine is that of no turn, the cosine that of a quarter of 512 steps.
_REACH: Final = 2.0**18
_TINY: Final = 2.0**-27
LIMBS: Final = 7
# Five words of 32 bits reduce an argument well enough to leave few lanes open.
_QUICK_LIMBS: Final = 5
# 2**-28 is the smallest number that has a window.
LOWEST_EXPONENT: Final = 1023 - 28
_MASK: Final = 0xFFFFFFFF
# Adding this number rounds to an integer and leaves it in the last bits of the sum.
_ANCHOR: Final = 1.5 * 2.0**52


class CircleTable(NamedTuple):
    """sin(i pi/256) for 512 steps round the circle, and the step: for the quick phase and as pairs.

    The quick heads, and the first three of the four parts of the step, have 26 bits: their products
    with 26-bit counts are exact. `whole` is the nearest float64.
    """

    head: Array
    tail: Array
    whole: Array
    step: tuple[float, ...]
    steps_per_unit: float
    sines: Pair
    step_pair: Pair


@cache
def _circle_table() -> CircleTable:
    """Returns the table of the sines of all multiples of pi/256."""
    half = half_pi(PLACES + 8)
    first = [_sine_of_step(half, i) for i in range(129)]
    quarter = [*first, *first[127:0:-1]]
    entries = [*quarter, *(-entry for entry in quarter)]
    one = shifted(half, -15)
    step = parts(one, 26, 26, 26, 53)
    head, tail = columns(parts(entry, 26, 53) for entry in entries)
    return CircleTable(head, tail, head + tail, step, 1.0 / sum(step), pairs(entries), pairs([one]))


def _sine_of_step(half: int, index: int) -> int:
    """Returns the fixed-point sine of index pi/256, up to 128, from pi/2 with 8 more places."""
    if index > 64:
        return cosine(shifted(half * (128 - index), -15), PLACES)
    return sine(shifted(half * index, -15), PLACES)


@cache
def _windows() -> Array:
    """Returns for each binary exponent the 7 limbs of 32 bits that matter, a row a limb.

    With x = m 2**e, m of 53 bits, column e holds 2**e 256/pi modulo 512 as a fraction of 512,
    the first bits first, cut off after the last limb.
    """
    width = 32 * LIMBS
    places = 1100 + width
    # 256/pi = 128 / (pi/2) with so many places.
    ratio = (128 << 2 * places) // half_pi(places)
    columns = []
    for field in range(LOWEST_EXPONENT, 2047):
        # The weight of the last bit of the window is 2**(9 - width).
        shift = places + 9 - width - (field - 1075)
        window = (ratio >> shift) & ((1 << width) - 1)
        columns.append([window >> 32 * (LIMBS - 1 - limb) & _MASK for limb in range(LIMBS)])
    return np.array(columns, np.uint64).T.copy()


def reduced(magnitude: Array, limbs: int) -> tuple[Array, Pair]:
    """Returns n and f with x 256/pi = n + f modulo 512 and |f| <= 1/2, for finite x >= 2**-28.

    The product of the window by m, modulo 512, is cut off below by less than m units of the last
    limb: f is within 2**(62 - 32 limbs) absolutely, that is 2**-98 for 5 limbs and 2**-162 for
    7. No float64 number gives an |f| below 2**-56, so that 2**-162 is 2**-106 of f at most.
    """
    table = _windows()
    bits = magnitude.view(np.int64)
    column = (bits >> 52) - LOWEST_EXPONENT
    mantissa = ((bits & ((1 << 52) - 1)) | (1 << 52)).view(np.uint64)
    below, above = mantissa & np.uint64(_MASK), mantissa >> np.uint64(32)
    carry = np.zeros_like(mantissa)
    digits: list[Array] = []
    for limb in range(limbs - 1, -1, -1):
        window = table[limb].take(column)
        product = below * window
        # At most 2**32 each but for the carry, which holds the product by 21 bits: no overflow.
        total = (product & np.uint64(_MASK)) + carry
        digits.append((total & np.uint64(_MASK)).view(np.int64))
        carry = (total >> np.uint64(32)) + (product >> np.uint64(32)) + above * window
    return _counted(digits[::-1])


def _counted(digits: list[Array]) -> tuple[Array, Pair]:
    """Splits a fraction of 512, given by its limbs, in the nearest step and the rest of it."""
    count = ((digits[0] >> 22) + 1) >> 1
    first = (digits[0] - (count << 23)).astype(np.float64) * 2.0**-23
    others = [
        digit.astype(np.float64) * 2.0 ** (-55 - 32 * place)
        for place, digit in enumerate(digits[1:])
    ]
    # Where the first limbs cancel, the rests of these sums are what stays.
    low, rest = others[-1], np.zeros_like(first)
    for digit in others[-2:0:-1]:
        low, lost = fast_two_sum(digit, low)
        rest = lost + rest
    low, lost = two_sum(others[0], low)
    head, more = two_sum(first, low)
    head, tail = two_sum(head, lost + more)
    return count, fast_two_sum(head, tail + rest)


def approximate_sin(values: Array) -> Array:
    """Returns the sine, faster than numpy's for float32 numbers below 2**18."""
    if not np.abs(values).max() <= _REACH:
        return np.sin(values)
    result = _approximate(values, 0)
    # The sum of products loses the sign of zero.
    zero = values == 0.0
    result[zero] = values[zero]
    return result


def approximate_cos(values: Array) -> Array:
    """Returns the cosine, faster than numpy's for float32 numbers below 2**18."""
    return _approximate(values, 128) if np.abs(values).max() <= _REACH else np.cos(values)


def _approximate(values: Array, turn: int) -> Array:
    """Returns sin(x + turn pi/256) as sin(a + r), with |r| <= pi/512 and x of 24 bits.

    |r| exceeds 2**-30 for such x unless x = r, so that the error of r, 2**-53 r + 2**-86, is
    under 2**-52 of it. Where sin a is not 0 it is twice |r| at least: nothing cancels, and the
    cut series, r**6/720 and r**7/5040, cost 2**-53.
    """
    table = _circle_table()
    first, second, third, fourth = table.step
    anchored = values * table.steps_per_unit + _ANCHOR
    count = anchored - _ANCHOR
    near = ((values - count * first) - count * second) - count * (third + fourth)
    index = (anchored.view(np.int64) + turn) & 511
    sine = table.whole.take(index)
    index += 128
    index &= 511
    cosine = table.whole.take(index)
    square = near * near
    fall = square * (square * (1 / 24) - 0.5)
    near += near * square * (square * (1 / 120) - 1 / 6)
    near *= cosine
    fall *= sine
    return sine + (fall + near)


def bracket_circular(turn: int, values: Array) -> Ends:
    """Encloses sin(x + turn pi/256), turn being 0 or 128; below 2**-27 that rounds to x or to 1."""
    inside = np.abs(values) <= _REACH
    if inside.all():
        both = ends(*circular(values, turn))
    else:
        both = ends(*circular(np.where(inside, values, 0.0), turn))
        far = ~inside & np.isfinite(values)
        patch(both, ~inside, np.nan)
        patch(both, far, *ends(*far_circular(values[far], turn)))
    tiny = np.abs(values) < _TINY
    return patch(both, tiny, 1.0 if turn else values[tiny]) if tiny.any() else both


def circular(values: Array, turn: int) -> Enclosure:
    """Encloses sin(x + turn pi/256) for |x| <= 2**18.

    x = n pi/256 + r with |n| < 2**25 and |r| < 2**-7.3. The first three products with parts of
    the step are exact; the fourth and what the step lacks leave an error below 2**-108, and none
    where n is 0.
    """
    table = _circle_table()
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
    count, (head, tail) = reduced(np.abs(values), _QUICK_LIMBS)
    near, slack = pair_product((head * sign, tail * sign), _circle_table().step_pair)
    head, tail, error = _turned(count * sign.astype(np.int64) + turn, near, slack)
    return Enclosure(head, tail, error + 2.0**-104)


def _turned(count: Array, near: Array, slack: Array) -> Enclosure:
    """Encloses sin(a + r), a = n pi/256, by s + s (cos r - 1) + c r + c (sin r - r).

    c r is exact in its leading part, 26 bits by 26. The terms in r*r lose 4 u of |s| r*r/2, those
    in r**3 5 u of |r|**3/6, the sums of the tail 4 u of both, and the rounding of `ends` one:
    below 2**-50 r*r (|s| + |r|) in all. The terms of 2**-26 s and 2**-26 r lose 2**-75 of the
    larger of s and r, which the result may be smaller than. The error of r is not included.
    """
    table = _circle_table()
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


def refined_bracket_circular(turn: int, values: Array) -> Ends:
    """Encloses sin(x + turn pi/256) for finite |x| >= 2**-28."""
    return ends(*refined_circular(values, turn))


def refined_circular(values: Array, turn: int) -> Enclosure:
    """Encloses sin(x + turn pi/256) by sin(a + r) = S + (S (cos r - 1) + C sin r).

    r lacks 2**-106 of itself by the reduction and 5 u*u by its product; sin r adds 2**-103, the
    product by C 5 u*u and both sums 3.1 u*u each: below 2**-101 |r|. S, a table's, lacks 2**-106
    |S|, cos r - 1 adds 2**-104 |S| and the last sum 3.1 u*u |S|: below 2**-102 |S|.
    """
    table = _circle_table()
    sign = np.copysign(1.0, values)
    count, (head, tail) = reduced(np.abs(values), LIMBS)
    angle = pair_product((head * sign, tail * sign), table.step_pair)
    index = (count * sign.astype(np.int64) + turn) & 511
    across = (index + 128) & 511
    sine = table.sines[0].take(index), table.sines[1].take(index)
    cosine = table.sines[0].take(across), table.sines[1].take(across)
    square = pair_product(angle, angle)
    negative = -square[0], -square[1]
    rise = pair_product(cosine, _sine(angle, negative))
    fall = pair_product(sine, _cosine_less_one(negative))
    result = pair_sum(sine, pair_sum(rise, fall))
    return Enclosure(*result, (np.abs(sine[0]) + np.abs(angle[0])) * 2.0**-101)


def _sine(angle: Pair, negative: Pair) -> Pair:
    """Returns sin r within 2**-103 of it, relatively, for |r| < 2**-7.3, given -r**2 too.

    It is r - r r**2 (1/6 - r**2 (1/120 - r**2 q)) with q = 1/7! - ... in float64: its 4 u weigh
    r**6/7!.
    """
    near = negative[0]
    quotient = 1 / 5040 + near * (1 / 362880 + near * (1 / 39916800 + near * (1 / 6227020800)))
    series = pair_product(negative, pair_series(negative, quotient, (120, 6)))
    return pair_sum(angle, pair_product(angle, series))


def _cosine_less_one(negative: Pair) -> Pair:
    """Returns cos r - 1 within 2**-104, absolutely, for |r| < 2**-7.3, given -r**2.

    It is -r**2 (1/2 - r**2 (1/24 - r**2 q)) with q = 1/6! - ... in float64: its 4 u weigh r**6/6!.
    """
    near = negative[0]
    quotient = 1 / 720 + near * (1 / 40320 + near * (1 / 3628800 + near * (1 / 479001600)))
    return pair_product(negative, pair_series(negative, quotient, (24, 2)))
