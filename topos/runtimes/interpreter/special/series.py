"""The Hurwitz zeta and the polygamma functions and a modified Bessel function, summed as series.

Sources: DLMF 25.11.5 (Euler's summation: twenty terms, then twelve of the series in Bernoulli
numbers, which leave less than 2**-75) and 25.11.12 (polygamma as zeta). Below 0 the sum is split
where its terms change sign: with q = f - m for 0 < f < 1 and a natural m, the terms before f are
those from 1 - f to m - f with the sign of (-1)**s. For the Bessel function DLMF 10.25.2 (the power
series, whose terms are all of one sign) and 10.40.1 (the expansion about infinity, of which 52
terms beyond x = 30 leave less than 2**-85).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from math import factorial
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import Constant
from topos.runtimes.interpreter.special.fields import Field, filled, piecewise
from topos.runtimes.interpreter.special.gamma import digamma, stirling
from topos.runtimes.interpreter.special.wide import LN_TWO, PI, bernoulli, pair_of

_TERMS: Final = 20
_WEIGHTS: Final = 12
# A first term of this size leaves nothing of the rest, which is below 100.
_ALONE: Final = 200.0
_DEEP: Final = 600.0
_LIFT: Final = 512.0
# From here on the first term of the expansion about infinity is the sum, or that is zero.
_DISTANT: Final = 2.0**200
# From the first of these exponents on, no term of zeta after the first one leaves anything; from
# the second on all are even; and one beyond the third gives what the third does.
_STEEP, _EVEN, _STEEPEST = 2.0**30, 2.0**53, 2.0**900


def zeta(field: Field, exponents: Array, starts: Array) -> Array:
    """Returns the sum of (q + n)**-s over all n >= 0; +inf at s = 1, NaN below.

    For q <= 0 the exponent must be an integer, or the result is NaN; where a term is infinite the
    sum is +inf for an even exponent and NaN for an odd one.
    """
    return _sums(field, np.zeros_like(starts), exponents, starts)


def polygamma(field: Field, orders: Array, values: Array) -> Array:
    """Returns the derivative of digamma of a natural order, NaN for other orders.

    It is (-1)**(n + 1) n! zeta(n + 1, x) for n > 0; the factorial enters in the exponents, where
    it cannot overflow.
    """
    natural = (orders >= 0.0) & (orders == np.rint(orders)) & (orders < 2.0**53)

    def derivative(orders: Array, values: Array) -> Array:
        sign = np.where(orders % 2.0 == 0.0, -1.0, 1.0)
        return sign * _sums(field, orders, orders + 1.0, values)

    pieces = (
        (orders == 0.0, lambda _, x: digamma(field, x)),
        (natural, derivative),
    )
    return piecewise(pieces, orders, values)


def _sums(field: Field, orders: Array, exponents: Array, starts: Array) -> Array:
    """Returns orders! zeta(exponents, starts), the order 0 being that of zeta itself."""
    whole = exponents == np.rint(exponents)
    pole = (starts <= 0.0) & (starts == np.rint(starts))
    even = whole & (exponents % 2.0 == 0.0)
    pieces = (
        (np.isnan(exponents) | np.isnan(starts), filled(np.nan)),
        (exponents == 1.0, filled(np.inf)),
        ((exponents < 1.0) | ((starts <= 0.0) & ~whole), filled(np.nan)),
        (pole & even, filled(np.inf)),
        (pole, filled(np.nan)),
        (starts == np.inf, filled(0.0)),
        (np.isinf(exponents) & (starts <= 1.0), lambda _, s, q: np.where(q < 1.0, np.inf, 1.0)),
        (np.isinf(exponents), filled(0.0)),
        ((starts < 0.0) & (exponents >= _EVEN), filled(np.inf)),
        ((starts > 0.0) & (exponents >= _STEEP) & (orders == 0.0), partial(_first, field)),
        (starts >= _DISTANT, partial(_distant, field)),
        (starts > 0.0, partial(_positive, field)),
        (starts < 0.0, partial(_negative, field)),
    )
    return piecewise(pieces, orders, np.minimum(exponents, _STEEPEST), starts)


def _first(field: Field, orders: Array, exponents: Array, starts: Array) -> Array:
    """Returns q**-s."""
    return field.value(_term(field, field.of(orders), field.of(exponents), field.of(starts)))


def _distant(field: Field, orders: Array, exponents: Array, starts: Array) -> Array:
    """Returns n! q**(1 - s) / (s - 1), the next term of which is s / q of it (DLMF 25.11.43)."""
    less = field.of(exponents) - 1.0
    first = _offset(field, orders) - less * field.logarithm(field.of(starts))
    deep = np.where(field.value(first) < -_DEEP, _LIFT, 0.0)
    lifted = field.exponential(first + field.of(deep) * field.constant(LN_TWO)) / less
    return field.value(lifted) * np.where(deep > 0.0, 2.0**-_LIFT, 1.0)


def _positive(field: Field, orders: Array, exponents: Array, starts: Array) -> Array:
    offset, exponent, start = _offset(field, orders), field.of(exponents), field.of(starts)
    first = offset - exponent * field.logarithm(start)
    size = field.value(first)
    # Sums that end up subnormal are computed at a scale where they are not.
    deep = np.where(size < -_DEEP, _LIFT, 0.0)
    offset = offset + field.of(deep) * field.constant(LN_TWO)
    total = field.value(_sum(field, offset, exponent, start)) * np.where(
        deep > 0.0, 2.0**-_LIFT, 1.0
    )
    alone = (size > _ALONE) & (starts < 1.0)
    return np.where(alone, field.value(field.exponential(first)), total)


def _negative(field: Field, orders: Array, exponents: Array, starts: Array) -> Array:
    offset, exponent = _offset(field, orders), field.of(exponents)
    start = field.of(starts)
    over = start - np.floor(starts)
    under = field.of(np.floor(starts) + 1.0) - start
    sign = np.where(exponents % 2.0 == 0.0, 1.0, -1.0)
    before = _sum(field, offset, exponent, under) - _sum(field, offset, exponent, 1.0 - start)
    return field.value(_sum(field, offset, exponent, over) + before * sign)


def _offset(field: Field, orders: Array) -> Any:
    """Returns ln n!, which is 0 for both 0 and 1."""
    some = orders >= 2.0
    if not some.any():
        return field.of(np.zeros_like(orders))
    logarithm = stirling(field, np.where(some, orders + 1.0, 3.0))
    return field.where(some, logarithm, field.of(np.zeros_like(orders)))


def _sum(field: Field, offset: Any, exponent: Any, start: Any) -> Any:
    """Returns e**offset times the sum of (q + n)**-s for q > 0."""
    zero = np.zeros(field.value(start).shape)
    total = field.of(zero)
    # The smallest terms first: they are the last ones.
    for integer in range(_TERMS - 1, -1, -1):
        total = total + _term(field, offset, exponent, start + float(integer))
    far = start + float(_TERMS)
    last = _term(field, offset, exponent, far)
    square = 1.0 / (far * far)
    series = field.of(zero)
    for index in range(_WEIGHTS, 0, -1):
        rising = (exponent + float(2 * index - 1)) * (exponent + float(2 * index))
        series = series * square * rising + field.constant(_weights()[index - 1])
    tail = far / (exponent - 1.0) + 0.5 + series * exponent / far
    return total + last * tail


def _term(field: Field, offset: Any, exponent: Any, base: Any) -> Any:
    return field.exponential(offset - exponent * field.logarithm(base))


@cache
def _weights() -> tuple[Constant, ...]:
    return tuple(
        pair_of(bernoulli(2 * index) / factorial(2 * index)) for index in range(1, _WEIGHTS + 1)
    )


_FAR: Final = 30.0
_BESSEL_TERMS: Final = 70
_FAR_TERMS: Final = 52
_TINY: Final = 2.0**-60
_HUGE: Final = 2.0**200


def bessel_i1e(field: Field, values: Array) -> Array:
    """Returns e**-|x| I1(x), which is odd and vanishes at both infinities."""
    magnitude = np.abs(values)
    pieces = (
        (magnitude < _TINY, lambda x: 0.5 * x),
        (magnitude < _FAR, partial(_series, field)),
        (magnitude < _HUGE, partial(_expansion, field)),
        (magnitude < np.inf, lambda x: 1.0 / (np.sqrt(x) * np.sqrt(2.0 * np.pi))),
        (magnitude == np.inf, np.zeros_like),
    )
    return np.copysign(piecewise(pieces, magnitude), values)


def _series(field: Field, magnitude: Array) -> Array:
    half = field.of(0.5 * magnitude)
    square, total = half * half, field.of(np.ones_like(magnitude))
    for index in range(_BESSEL_TERMS, 0, -1):
        total = square * total / float(index * (index + 1)) + 1.0
    return field.value(half * total * field.exponential(field.of(-magnitude)))


def _expansion(field: Field, magnitude: Array) -> Array:
    x = field.of(magnitude)
    inverse, total = 1.0 / x, field.of(np.zeros_like(magnitude))
    for weight in reversed(_far_weights()):
        total = total * inverse + field.constant(weight)
    return field.value(total / field.root(x * 2.0 * field.constant(PI)))


@cache
def _far_weights() -> tuple[Constant, ...]:
    """Returns (-1)**k a_k of order one: a_k = a_(k-1) (4 - (2k - 1)**2) / (8 k)."""
    weight, weights = Fraction(1), [pair_of(Fraction(1))]
    for index in range(1, _FAR_TERMS):
        weight *= Fraction((2 * index - 1) ** 2 - 4, 8 * index)
        weights.append(pair_of(weight))
    return tuple(weights)
