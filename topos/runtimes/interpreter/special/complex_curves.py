"""Circular and hyperbolic functions of complex numbers and their inverses, on principal branches.

Each takes and returns complex128 arrays; both parts are rounded once from wide numbers. On a
branch cut the sign of a zero tells the side. Where a part is infinite or NaN the results are
numpy's, which are those of C99, Annex G. Sources: Hull, Fairgrieve and Tang, Implementing the
complex arcsine and arccosine functions using exception handling, ACM TOMS 23 (1997); Kahan, Branch
cuts for complex elementary functions (1987).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_arithmetic import complex_of
from topos.runtimes.interpreter.special.curves import arctangent, cofactor, scaled_pair, sinh_cosh
from topos.runtimes.interpreter.special.wide import (
    LN_TWO,
    PI,
    Wide,
    constant,
    exponential,
    log1p,
    logarithm,
    root,
    sine_cosine,
    where,
)

# From here on tanh is 1 and e**-2y below 2**-115 of it.
_LEVEL: Final = 40.0


def sinh(values: Array) -> Array:
    """Returns sinh x cos y + i cosh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        (first, second), scale = scaled_pair(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        real, imaginary = (first * cosine).value() * scale, (second * sine).value() * scale
        return complex_of(_signed(real, x, cosine.head), np.copysign(imaginary, _sign(sine, y)))

    return extended(finite, np.sinh, values)


def cosh(values: Array) -> Array:
    """Returns cosh x cos y + i sinh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        (first, second), scale = scaled_pair(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        imaginary = (first * sine).value() * scale
        return complex_of((second * cosine).value() * scale, _signed(imaginary, x, _sign(sine, y)))

    return extended(finite, np.cosh, values)


def _sign(sine: Wide, angle: Array) -> Array:
    """Returns numbers with the sign of the sine, which is that of the angle where it is zero."""
    return np.where(sine.head == 0.0, angle, sine.head)


def _signed(array: Array, first: Array, second: Array) -> Array:
    """Returns `array` with the product of two signs: zeros lose theirs in wide numbers."""
    sign = np.copysign(1.0, first) * np.copysign(1.0, second)
    return np.asarray(np.copysign(array, sign))


def tan(values: Array) -> Array:
    """Returns (sin x cos x + i sinh y cosh y) / (cos(x)**2 + sinh(y)**2)."""

    def finite(x: Array, y: Array) -> Array:
        magnitude = np.abs(y)
        level = magnitude > _LEVEL
        sine, cosine = sine_cosine(Wide(x))
        rise, fall = sinh_cosh(np.where(level, 1.0, magnitude))
        below = cosine * cosine + rise * rise
        wave = sine * cosine
        far = wave * exponential(Wide(-2.0 * np.minimum(magnitude, 1000.0))) * 4.0
        real = where(level, far, wave / below).value()
        imaginary = np.where(level, 1.0, (rise * fall / below).value())
        real = _signed(real, _sign(sine, x), cosine.head)
        return complex_of(real, np.copysign(imaginary, y))

    return extended(finite, np.tan, values)


def extended(
    finite: Callable[[Array, Array], Array], special: Callable[[Array], Array], values: Array
) -> Array:
    """Returns `finite` of the parts where both are finite, numpy's `special` elsewhere."""
    mask = np.isfinite(values)
    result = np.empty_like(values)
    result[mask] = finite(values.real[mask], values.imag[mask])
    result[~mask] = special(values[~mask])
    return result


# Squares of numbers between the two, and products of squares, stay in the normal range.
_SMALL: Final = 2.0**-300
_HUGE: Final = 2.0**300
_LIFT: Final = 2.0**200
_PI: Final = constant(PI)
_LN_TWO: Final = constant(LN_TWO)


class _Parts(NamedTuple):
    """What the four inverses are made of, for z = x + iy in the first quadrant.

    asin z = sine + i growth and acos z = cosine - i growth, both angles being those of the point
    (run, x) or (x, run).
    """

    sine: Wide
    cosine: Wide
    growth: Wide
    run: Wide


def asin(values: Array) -> Array:
    """Returns the inverse of sin, -i asinh(iz); cut along the real axis outside of [-1, 1]."""
    return _swapped(asinh, values)


def acos(values: Array) -> Array:
    """Returns the inverse of cos; cut as asin."""

    def finite(x: Array, y: Array) -> Array:
        parts = _parts(np.abs(x), np.abs(y))
        angle = where(np.signbit(x), _PI - parts.cosine, parts.cosine).value()
        return complex_of(angle, -np.copysign(parts.growth.value(), y))

    return extended(finite, np.arccos, values)


def acosh(values: Array) -> Array:
    """Returns the inverse of cosh, its real part never negative; cut along the reals below 1."""
    turned, y = acos(values), values.imag
    angle = np.where(np.isnan(y), turned.real, np.copysign(turned.real, y))
    return complex_of(np.abs(turned.imag), angle)


def asinh(values: Array) -> Array:
    """Returns the inverse of sinh; cut along the imaginary axis beyond i and -i."""

    def finite(x: Array, y: Array) -> Array:
        parts = _parts(np.abs(y), np.abs(x))
        return complex_of(np.copysign(parts.growth.value(), x), np.copysign(parts.sine.value(), y))

    return extended(finite, np.arcsinh, values)


def atanh(values: Array) -> Array:
    """Returns the inverse of tanh; cut along the real axis outside of [-1, 1]."""

    def finite(x: Array, y: Array) -> Array:
        real, imaginary = _quotient_parts(np.abs(x), np.abs(y))
        return complex_of(np.copysign(real, x), np.copysign(imaginary, y))

    return extended(finite, np.arctanh, values)


def atan(values: Array) -> Array:
    """Returns the inverse of tan, -i atanh(iz); cut along the imaginary axis beyond i and -i."""
    return _swapped(atanh, values)


def kernel(values: Array) -> Array:
    """Returns w with asin z = atan2(Re z, Re w) + i Im w for z in the first quadrant.

    It is what CHLO makes the other inverses of; it is the same in every quadrant.
    """

    def finite(x: Array, y: Array) -> Array:
        parts = _parts(np.abs(x), np.abs(y))
        return complex_of(parts.run.value(), parts.growth.value())

    def special(values: Array) -> Array:
        turned = np.arcsinh(complex_of(values.imag, values.real))
        return complex_of(np.abs(values.imag), np.abs(turned.real))

    return extended(finite, special, values)


def _swapped(function: Callable[[Array], Array], values: Array) -> Array:
    """Returns -i f(iz) of an f with f(z*) = f(z)*: by y + ix of x + iy, before and after."""
    turned = function(complex_of(values.imag, values.real))
    return complex_of(turned.imag, turned.real)


def _parts(x: Array, y: Array) -> _Parts:
    huge = np.maximum(x, y) >= _HUGE
    flat = ~huge & (y < _SMALL)
    inside = ~huge & ~flat
    result = _Parts(*(Wide(np.zeros_like(x), np.zeros_like(x)) for _ in range(4)))
    for lanes, function in ((inside, _central), (flat, _on_axis), (huge, _distant)):
        if not lanes.any():
            continue
        for target, part in zip(result, function(x[lanes], y[lanes]), strict=True):
            target.put(lanes, part)
    return result


def _central(x: Array, y: Array) -> _Parts:
    """Hull's formulas: r and s are the distances from -1 and 1, a their mean.

    Of a - 1 and a - x one is y**2 (1/(r + x + 1) + 1/(s + |x - 1|)) / 2 and the other
    (y**2 / (r + x + 1) + s + |x - 1|) / 2, which way round depends on the side of 1.
    """
    below = x < 1.0
    side, other = Wide(x) + 1.0, abs(Wide(x) - 1.0)
    height = Wide(y)
    square = height * height
    left, right = root(side * side + square), root(other * other + square)
    mean = (left + right).scaled(0.5)
    inverse = 1.0 / (left + side)
    steep = (inverse + 1.0 / (right + other)).scaled(0.5)
    wide = (square * inverse + right + other).scaled(0.5)
    near, far = np.where(below, 1.0, x), np.where(below, x, 1.0)
    # Of the roots of (a - 1)(a + 1) and (a - x)(a + x) one has the factor y.
    short, long = height * root(steep * (mean + near)), root(wide * (mean + far))
    over = where(below, square * steep, wide)
    growth = log1p(over + where(below, short, long))
    run = where(below, long, short)
    return _Parts(arctangent(Wide(x), run), arctangent(run, Wide(x)), growth, run)


def _on_axis(x: Array, y: Array) -> _Parts:
    """The same where y**2 is nothing: asin x + i y / sqrt(1 - x**2), or pi/2 + i acosh x."""
    lifted = Wide(y * _LIFT)
    below, above = x < 1.0, x > 1.0
    over = Wide(np.where(above, x, 2.0)) - 1.0
    beyond = root(over * (over + 2.0))
    within = cofactor(np.where(below, x, 0.0))
    slope = lifted / where(below, within, beyond)
    edge = root(lifted).scaled(_LIFT**-0.5)
    rise = where(below, slope.scaled(1.0 / _LIFT), edge)
    growth = where(above, log1p(over + beyond), rise)
    sheer = (slope * np.where(above, x, 1.0)).scaled(1.0 / _LIFT)
    run = where(below, within, where(above, sheer, edge))
    return _Parts(arctangent(Wide(x), run), arctangent(run, Wide(x)), growth, run)


def _distant(x: Array, y: Array) -> _Parts:
    """The same where |z|**2 + 1 is |z|**2: the angles of z, and ln 2|z|."""
    larger, ratio = _ratio(x, y)
    growth = logarithm(larger) + _LN_TWO + log1p(ratio * ratio).scaled(0.5)
    return _Parts(arctangent(Wide(x), Wide(y)), arctangent(Wide(y), Wide(x)), growth, Wide(y))


def _ratio(x: Array, y: Array) -> tuple[Wide, Wide]:
    """Returns the larger part and the quotient of the smaller one by it; the scale cancels."""
    larger = np.maximum(x, y)
    quotient = Wide(np.minimum(x, y) / _LIFT) / Wide(larger / _LIFT)
    return Wide(larger), quotient


def _quotient_parts(x: Array, y: Array) -> tuple[Array, Array]:
    """Returns the parts of atanh z in the first quadrant.

    They are ln(1 + 4x / ((1 - x)**2 + y**2)) / 4 and the angle of (1 - x)(1 + x) - y**2 and 2y,
    halved.
    """
    huge = np.maximum(x, y) >= _HUGE
    pole = (x == 1.0) & (y < _SMALL)
    real, imaginary = np.empty_like(x), np.empty_like(x)
    for lanes, function in ((~huge & ~pole, _inner), (pole, _beside_pole), (huge, _outer)):
        if lanes.any():
            real[lanes], imaginary[lanes] = function(x[lanes], y[lanes])
    return real, imaginary


def _inner(x: Array, y: Array) -> tuple[Array, Array]:
    side, other, square = Wide(x) + 1.0, 1.0 - Wide(x), Wide(y) * Wide(y)
    distance = other * other + square
    thin = x < _SMALL
    real = log1p(Wide(np.where(thin, 0.5, 4.0 * x)) / distance).scaled(0.25).value()
    line = (Wide(np.where(thin, x, 0.0) * _LIFT) / distance).value() / _LIFT
    run = side * other - square
    behind = run.head < 0.0
    angle = arctangent(Wide(2.0 * y), abs(run))
    angle = where(behind, _PI - angle, angle).scaled(0.5)
    return np.where(thin, line, real), angle.value()


def _beside_pole(x: Array, y: Array) -> tuple[Array, Array]:
    """At 1 + iy the parts are ln(2 / y) / 2 and pi/4; at 1 itself infinity and 0."""
    some = y > 0.0
    real = (_LN_TWO - logarithm(Wide(np.where(some, y, 1.0)))).scaled(0.5).value()
    return np.where(some, real, np.inf), np.where(some, _PI.scaled(0.25).value(), 0.0)


def _outer(x: Array, y: Array) -> tuple[Array, Array]:
    """Far out they are x / |z|**2 and pi/2."""
    larger, ratio = _ratio(x, y)
    share = where(x >= y, Wide(np.ones_like(x)), ratio)
    lowered = larger.scaled(1.0 / _LIFT)
    real = (share / (ratio * ratio + 1.0) / lowered).value() / _LIFT
    return real, np.full_like(x, _PI.scaled(0.5).value())
