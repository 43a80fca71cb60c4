"""The gamma and the error functions and their kin, of real numbers.

Sources: DLMF 5.7.3 (the series about 2), 5.11.1-2 (the asymptotic series), 5.5.1-5 (recurrence
and reflection), 7.9.1 (the continued fraction of erfc). The recurrence raises an argument to
`_FAR`, where twelve terms of the asymptotic series leave less than 2**-96. The inverse of the error
function starts from a formula of three digits, which three steps of Halley's method make exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import factorial
from typing import Any, Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import Constant, two_product
from topos.payload.kernels.expansion import refined_expansion
from topos.payload.kernels.exponential import exponential_pair
from topos.payload.kernels.mapping import Enclosure, scaled_ends
from topos.runtimes.interpreter.special.fields import Field, filled, piecewise
from topos.runtimes.interpreter.special.wide import (
    EULER,
    HALF_LN_TWO_PI,
    LN_PI,
    PI,
    TWO_OVER_ROOT_PI,
    Wide,
    bernoulli,
    constant,
    pair_of,
    root,
)

_FAR: Final = 20.0
_TERMS: Final = 12
_NEAR: Final = 2.5
# The series about 2 falls by a quarter each term.
_NEAR_TERMS: Final = 50
_HUGE: Final = 2.0**70
_TINY: Final = 2.0**-200
_SCALE: Final = 2.0**64


def lgamma(field: Field, values: Array) -> Array:
    """Returns ln |gamma(x)|; +inf at the poles and at both infinities."""
    magnitude = np.abs(values)
    whole = (values <= 0.0) & (values == np.rint(values))
    near = magnitude < _NEAR
    pieces = (
        (whole | np.isinf(values), filled(np.inf)),
        (magnitude >= _HUGE, partial(_huge, field)),
        ((values > 0.0) & near, lambda x: field.value(_about_two(field, x))),
        (values > 0.0, lambda x: field.value(stirling(field, x))),
        ((values < 0.0) & near, partial(_reflected_logarithm, field, _about_two)),
        (values < 0.0, partial(_reflected_logarithm, field, stirling)),
    )
    return piecewise(pieces, values)


def _huge(field: Field, values: Array) -> Array:
    """Returns x (ln x - 1) - ln(x) / 2 of so large an x that the other terms vanish."""
    logarithm = field.logarithm(field.of(values))
    # Products of wide numbers need room above them.
    part = field.of(values * (1.0 / _SCALE)) * (logarithm - 1.0) - logarithm * (0.5 / _SCALE)
    return field.value(part) * _SCALE


def _about_two(field: Field, values: Array) -> Any:
    """Returns ln gamma(x) for 0 < x < 2.5 by the series about 2, shifted by 0, 1 or 2.

    ln gamma(2 + e) = (1 - c) e + sum (-1)**k (zeta(k) - 1) e**k / k, c being Euler's constant.
    """
    center = np.where(values < 0.5, 0.0, np.where(values < 1.5, 1.0, 2.0))
    step = field.of(values - center)
    total = step * 0.0
    for coefficient in reversed(_near_coefficients()):
        total = total * step + field.constant(coefficient)
    total = total * step
    one = field.log1p(field.of(np.where(center < 2.0, values - center, 0.0)))
    zero = field.logarithm(field.of(np.where(center == 0.0, values, 1.0)))
    return total - one - zero


@cache
def _near_coefficients() -> tuple[Constant, ...]:
    first = pair_of(1 - Fraction(EULER[0]) - Fraction(EULER[1]))
    rest = (
        pair_of((-1) ** power * _zeta_less_one(power) / power) for power in range(2, _NEAR_TERMS)
    )
    return (first, *rest)


def _zeta_less_one(power: int) -> Fraction:
    """Returns zeta(k) - 1 within 2**-120 of it by Euler's summation from 32 on (DLMF 25.2.9)."""
    start, total = 32, Fraction()
    for integer in range(2, start):
        total += Fraction((1 << 200) // integer**power, 1 << 200)
    total += Fraction(1, (power - 1) * start ** (power - 1)) + Fraction(1, 2 * start**power)
    rising = Fraction(power)
    for half in range(1, 14):
        weight = bernoulli(2 * half) / factorial(2 * half)
        total += weight * rising / start ** (power + 2 * half - 1)
        rising *= (power + 2 * half - 1) * (power + 2 * half)
    return total


def stirling(field: Field, values: Array) -> Any:
    """Returns ln gamma(x) as a number of the field, for 2.5 <= x < 2**70.

    It is Stirling's series, less the logarithm of the product that raised x.
    """
    product, far, _ = _raised(field, values, sloped=False)
    logarithm = field.logarithm(far)
    result = (far - 0.5) * logarithm - far + field.constant(HALF_LN_TWO_PI)
    inverse = 1.0 / far
    square, series = inverse * inverse, inverse * 0.0
    for index in range(_TERMS, 0, -1):
        weight = bernoulli(2 * index) / (2 * index * (2 * index - 1))
        series = series * square + field.constant(pair_of(weight))
    return result + series * inverse - field.logarithm(product)


def _raised(field: Field, values: Array, sloped: bool) -> tuple[Any, Any, Any]:
    """Returns P = x (x + 1) ... up to `_FAR`, what follows it, and the derivative of P or 0."""
    zero = np.zeros(values.shape)
    product, slope, x = field.of(zero + 1.0), field.of(zero), field.of(values)
    for _ in range(int(_FAR)):
        low = field.value(x) < _FAR
        if not low.any():
            break
        if sloped:
            slope = field.where(low, slope * x + product, slope)
        product = field.where(low, product * x, product)
        x = field.where(low, x + 1.0, x)
    return product, x, slope


def _half_turn(field: Field, magnitude: Array) -> tuple[Any, Any]:
    """Returns sin(pi r) and cos(pi r) of the distance r from the nearest integer, up to 1/2."""
    return field.sine_cosine(field.of(magnitude - np.rint(magnitude)) * field.constant(PI))


def _reflected_logarithm(
    field: Field, positive: Callable[[Field, Array], Any], values: Array
) -> Array:
    """Returns ln |gamma(-a)| = ln pi - ln(a |sin(pi a)|) - ln gamma(a)."""
    magnitude = -values
    sine = _half_turn(field, magnitude)[0]
    sine = field.where(field.value(sine) < 0.0, -sine, sine)
    # Apart, since the product of two tiny factors would be no number.
    logarithm = field.logarithm(sine) + field.logarithm(field.of(magnitude))
    return field.value(field.constant(LN_PI) - logarithm - positive(field, magnitude))


def digamma(field: Field, values: Array) -> Array:
    """Returns the derivative of ln gamma(x); NaN at the poles and at -inf, +inf at +inf."""
    pieces = (
        (values == np.inf, filled(np.inf)),
        ((values <= 0.0) & (values == np.rint(values)), filled(np.nan)),
        (np.abs(values) < _TINY, lambda x: -1.0 / x),
        (values > 0.0, lambda x: field.value(_derivative(field, x))),
        (values < 0.0, lambda x: field.value(_reflected_derivative(field, x))),
    )
    return piecewise(pieces, values)


def _derivative(field: Field, values: Array) -> Any:
    product, far, slope = _raised(field, values, sloped=True)
    # Past 2**500 the inverse square is nothing beside the logarithm.
    inverse = 1.0 / field.where(values < 2.0**500, far, field.of(np.full(values.shape, 2.0**500)))
    square, series = inverse * inverse, inverse * 0.0
    for index in range(_TERMS, 0, -1):
        series = series * square + field.constant(pair_of(bernoulli(2 * index) / (2 * index)))
    return field.logarithm(far) - inverse * 0.5 - series * square - slope / product


def _reflected_derivative(field: Field, values: Array) -> Any:
    """Returns psi(-a) = psi(a) + 1/a + pi cot(pi a)."""
    magnitude = -values
    sine, cosine = _half_turn(field, magnitude)
    turned = field.constant(PI) * cosine / sine
    return _derivative(field, magnitude) + 1.0 / field.of(magnitude) + turned


# Up to here 1 - erf x keeps 2**-75 of itself; from here on the fraction is short.
_ERF_NEAR: Final = 3.5
_LEVELS: Final = 60
_LAST: Final = 27.3
_ERF_TINY: Final = 2.0**-60
_ROOT_PI: Final = root(constant(PI))


def erfc(values: Array) -> Array:
    """Returns 1 - erf x, rounded once, also where it is subnormal."""
    pieces = (
        (values < -6.5, filled(2.0)),
        (values > _LAST, np.zeros_like),
        (values < _ERF_NEAR, lambda x: (Wide(np.ones_like(x)) - _erf(x)).value()),
        (values >= _ERF_NEAR, _erfc_far),
    )
    return piecewise(pieces, values)


def _erf(values: Array) -> Wide:
    magnitude = np.maximum(np.abs(values), _ERF_TINY)
    head, tail, _ = refined_expansion(magnitude)
    erf = Wide(head, tail).scaled(np.copysign(1.0, values))
    slope = constant(TWO_OVER_ROOT_PI)
    tiny = np.abs(values) < _ERF_TINY
    linear = Wide(np.where(tiny, values, 0.0)) * slope
    return Wide(np.where(tiny, linear.head, erf.head), np.where(tiny, linear.tail, erf.tail))


def _fraction(values: Array) -> Wide:
    """Returns sqrt(pi) e**(x * x) erfc x = 1 / (x + 1/2 / (x + 1 / (x + 3/2 / (x + ...))))."""
    x = Wide(values)
    total = x
    for level in range(_LEVELS, 0, -1):
        total = x + Wide(np.full_like(values, 0.5 * level)) / total
    return 1.0 / total


def _erfc_far(values: Array) -> Array:
    square, rest = two_product(values, values)
    pair, power = exponential_pair(-square, -rest)
    result = Wide(*pair) * _fraction(values) / _ROOT_PI
    return scaled_ends(Enclosure(*result.pair, np.zeros_like(values)), power)[0]


def erf_inv(values: Array) -> Array:
    """Returns the number whose error function is x; infinite at 1 and -1, NaN beyond."""
    magnitude = np.abs(values)
    pieces = (
        (magnitude < _ERF_TINY, _linear),
        (magnitude < 1.0, _inverse),
        (magnitude == 1.0, filled(np.inf)),
    )
    return np.where(values == values, np.copysign(piecewise(pieces, magnitude), values), np.nan)


def _linear(magnitude: Array) -> Array:
    # The products of subnormal halves would be lost.
    return (Wide(magnitude * 2.0**200) / constant(TWO_OVER_ROOT_PI)).value() * 2.0**-200


def _inverse(magnitude: Array) -> Array:
    """Returns the inverse for 0 < y < 1 by three steps of Halley's method.

    With u = (erf t - y) / erf' t the next t is t - u / (1 + t u). The differences come from wide
    numbers, so that the last u, of the size of a rounding, is known to float64.
    """
    guess = _guess(magnitude)
    for _ in range(3):
        newton = (_erf(guess) - magnitude).head / (TWO_OVER_ROOT_PI[0] * maps.exp(-guess * guess))
        guess = guess - newton / (1.0 + guess * newton)
    return guess


def _guess(magnitude: Array) -> Array:
    """Returns the inverse to a few digits, by its asymptotic form in w = -ln(1 - y**2).

    Source: Winitzki, A handy approximation for the error function and its inverse (2008).
    """
    logarithm = maps.log1p(-magnitude) + maps.log1p(magnitude)
    factor = 0.147
    middle = 2.0 / (np.pi * factor) + 0.5 * logarithm
    return np.sqrt(np.sqrt(middle * middle - logarithm / factor) - middle)
