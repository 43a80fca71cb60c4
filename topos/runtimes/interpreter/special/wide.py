"""Wide numbers: double-double arrays with operators, maps with such results, and constants.

The formulas of this package are written once and run on float64 arrays, whose results then round
to a shorter format, or on wide numbers, which round to float64. A wide number is within about
2**-100 of what it stands for, so a result is the nearest float64 but where it is all but a
midpoint. Both halves are finite: the formulas set infinities and NaN apart before. The digits of
the constants are those of the NIST Digital Library of Mathematical Functions and of a computation
in 80 digits; the sum of a pair is within 2**-106 of the number, relatively.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.circular import refined_circular
from topos.payload.kernels.double_double import (
    Constant,
    Pair,
    pair_product,
    pair_quotient,
    pair_sum,
    two_product,
    two_sum,
)
from topos.payload.kernels.exponential import expm1_pair, exponential_pair
from topos.payload.kernels.logarithm import logarithm_pair, raised_subnormals
from topos.payload.kernels.mapping import Ends, ends

_TINY: Final = 2.0**-30
_SMALL: Final = 2.0**-18
_QUARTER_TURN: Final = 128
# Many times what the formulas lose.
ERROR: Final = 2.0**-88


class Wide:
    """Numbers as `head + tail`, two float64 arrays with `head` the rounded sum."""

    __slots__ = ("head", "tail")
    # An array on the left leaves the operation to this class.
    __array_ufunc__ = None

    def __init__(self, head: Array, tail: Array | None = None) -> None:
        self.head = np.asarray(head)
        self.tail = np.zeros_like(self.head) if tail is None else tail

    @property
    def pair(self) -> Pair:
        """The two arrays."""
        return self.head, self.tail

    def __add__(self, other: Wide | Array | float) -> Wide:
        return Wide(*pair_sum(self.pair, _pair(other)))

    def __mul__(self, other: Wide | Array | float) -> Wide:
        return Wide(*pair_product(self.pair, _pair(other)))

    def __sub__(self, other: Wide | Array | float) -> Wide:
        return self + (-other)

    def __neg__(self) -> Wide:
        return Wide(-self.head, -self.tail)

    def __truediv__(self, other: Wide | Array | float) -> Wide:
        return Wide(*pair_quotient(self.pair, _pair(other)))

    def __rsub__(self, other: Array | float) -> Wide:
        return -self + other

    def __rtruediv__(self, other: Array | float) -> Wide:
        return Wide(np.broadcast_to(np.float64(other), self.head.shape)) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def scaled(self, factor: Array | float) -> Wide:
        """Returns the product by a power of two, which is exact but for subnormal numbers."""
        return Wide(self.head * factor, self.tail * factor)

    def value(self) -> Array:
        """Returns the nearest float64; a head that overflowed stays infinite."""
        total = self.head + self.tail
        return np.where(np.isinf(self.head), self.head, total)

    def __abs__(self) -> Wide:
        return self.scaled(np.copysign(1.0, self.head))

    def put(self, lanes: Array, part: Wide) -> None:
        """Writes `part` where the mask `lanes` holds; both arrays must be this number's own."""
        self.head[lanes], self.tail[lanes] = part.head, part.tail


def enclosed(number: Wide, known: Array, results: Array, error: Array | None = None) -> Ends:
    """Returns the ends of an enclosure of what `number` stands for; `results` where `known`."""
    error = np.abs(number.head) * ERROR if error is None else error
    low, high = ends(number.head, number.tail, error)
    return np.where(known, results, low), np.where(known, results, high)


def constant(pair: Constant) -> Wide:
    """Returns a constant, which broadcasts."""
    return Wide(np.array(pair[0]), np.array(pair[1]))


def _pair(number: Wide | Array | float) -> Pair:
    if isinstance(number, Wide):
        return number.pair
    array = np.asarray(number, np.float64)
    return array, np.zeros_like(array)


def where(mask: Array, first: Wide, second: Wide) -> Wide:
    """Returns `first` where `mask` holds, `second` elsewhere."""
    heads = np.where(mask, first.head, second.head)
    return Wide(heads, np.where(mask, first.tail, second.tail))


def logarithm(number: Wide) -> Wide:
    """Returns ln x for x > 0."""
    argument, lift = raised_subnormals(np.ascontiguousarray(number.head))
    rest: Array = number.tail / number.head
    return Wide(*logarithm_pair(argument, None, lift)) + rest


def log1p(number: Wide) -> Wide:
    """Returns ln(1 + x) for x > -1 such that 1 + x is normal."""
    tiny = np.abs(number.head) < _TINY
    head = np.where(tiny, 0.5, number.head)
    total, rest = two_sum(head, 1.0)
    result = Wide(*logarithm_pair(total, rest, 0)) + number.tail / (1.0 + head)
    # Below 2**-30 five terms of its series are all that 2**-120 can see.
    x = where(tiny, number, Wide(np.zeros_like(number.head)))
    series = x * (x * (x * (Wide(x.head * 0.0 + 1.0) / 3.0 - x * 0.25) - 0.5) + 1.0)
    return where(tiny, series, result)


def exponential(number: Wide) -> Wide:
    """Returns e**x; infinite or zero where it leaves the range, its tail lost where subnormal."""
    bounded = np.clip(number.head, -760.0, 720.0)
    inside = bounded == number.head
    pair, power = exponential_pair(bounded, np.where(inside, number.tail, 0.0))
    half = power >> 1
    result = Wide(*pair).scaled(np.ldexp(1.0, half))
    return result.scaled(np.ldexp(1.0, power - half))


def expm1(array: Array) -> Wide:
    """Returns e**x - 1 for -50 <= x <= 700."""
    tiny = np.abs(array) < _TINY
    enclosure, power = expm1_pair(np.where(tiny, 1.0, array))
    result = Wide(enclosure.head, enclosure.tail).scaled(np.ldexp(1.0, power))
    x = Wide(np.where(tiny, array, 0.0))
    series = x * (x * (x * (x / 24.0 + Wide(np.ones_like(array)) / 6.0) + 0.5) + 1.0)
    return where(tiny, series, result)


def root(number: Wide) -> Wide:
    """Returns the square root of x >= 0, by one step of Newton's method from the rounded one."""
    head = np.sqrt(number.head)
    product, rest = two_product(head, head)
    left = (number.head - product) - rest + number.tail
    return Wide(head) + np.where(head > 0.0, left / (2.0 * np.where(head > 0.0, head, 1.0)), 0.0)


def sine_cosine(number: Wide) -> tuple[Wide, Wide]:
    """Returns sin x and cos x, the angle's tail being far below its head.

    sin(a + e) = sin a + e cos a and cos(a + e) = cos a - e sin a, to e**2.
    """
    small = np.abs(number.head) < _SMALL
    angle = np.where(small, 1.0, number.head)
    sine, cosine = (Wide(*refined_circular(angle, turn)[:2]) for turn in (0, _QUARTER_TURN))
    sine, cosine = sine + number.tail * cosine.head, cosine - number.tail * sine.head
    x = where(small, number, Wide(np.zeros_like(number.head)))
    square = x * x
    # Five terms each: at 2**-18 the next one is below 2**-200 / 11!.
    low, high = _taylor(square, 3), _taylor(square, 2)
    return where(small, x * low, sine), where(small, high, cosine)


def _taylor(square: Wide, first: int) -> Wide:
    """Returns 1 - s/(f(f-1)) (1 - s/((f+2)(f+1)) (...)): sin x / x for f = 3, cos x for f = 2."""
    one = Wide(np.ones_like(square.head))
    total = one
    for last in (first + 6, first + 4, first + 2, first):
        total = one - square * total / float(last * (last - 1))
    return total


def pair_of(number: str | Fraction) -> Constant:
    """Returns the pair nearest to a number, given exactly or by its digits."""
    exact = Fraction(number)
    head = float(exact)
    return head, float(exact - Fraction(head))


@cache
def bernoulli(index: int) -> Fraction:
    """Returns the Bernoulli number of an even index, by the recurrence of DLMF 24.5.3."""
    if index == 0:
        return Fraction(1)
    # Of the odd ones only the first, -1/2, is not zero.
    total = sum(
        (comb(index + 1, even) * bernoulli(even) for even in range(0, index, 2)), Fraction()
    )
    return (Fraction(index + 1, 2) - total) / (index + 1)


PI: Final = pair_of("3.14159265358979323846264338327950288419717")
LN_TWO: Final = pair_of("0.693147180559945309417232121458176568075500")
LN_PI: Final = pair_of("1.14472988584940017414342735135305871164729")
HALF_LN_TWO_PI: Final = pair_of("0.918938533204672741780329736405617639861397")
EULER: Final = pair_of("0.577215664901532860606512090082402431042159")
TWO_OVER_ROOT_PI: Final = pair_of("1.12837916709551257389615890312154517168810")
