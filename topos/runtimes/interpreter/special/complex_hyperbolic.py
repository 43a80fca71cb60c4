"""The hyperbolic sine and cosine and the tangent of complex numbers, and the limits of all of them.

Each takes and returns complex128 arrays; both parts are rounded once from wide numbers. Where a
part is infinite or NaN the results are those of C99, Annex G.6: the `endless` functions take the
parts of such numbers and return the parts of the results. Where the standard leaves a sign open, it
is plus. The circular functions follow from the hyperbolic ones: f(iz) = i g(z).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_arithmetic import complex_of
from topos.runtimes.interpreter.special.hyperbolic import scaled_pair, sinh_cosh
from topos.runtimes.interpreter.special.wide import Wide, exponential, sine_cosine, where

__all__ = ["cosh", "endless_acos", "endless_asinh", "endless_atanh", "extended", "sinh", "tan"]

Parts = tuple[Array, Array]
_QUARTER: Final = np.pi / 4


def _with_sign(value: Array | float, sign: Array) -> Array:
    """Returns `value` with the sign of a number, plus for NaN."""
    return np.where(np.isnan(sign), value, np.copysign(value, sign))


def endless_asinh(x: Array, y: Array) -> Parts:
    """Returns an infinity with an angle, or NaN with NaN or a zero."""
    endless = np.isinf(x) | np.isinf(y)
    growth = np.where(endless, _with_sign(np.inf, x), np.nan)
    quarters = np.where(np.isinf(y), np.where(np.isinf(x), 1, 2), 0)
    angle = np.copysign(quarters * _QUARTER, y)
    known = ~np.isnan(x) & ~np.isnan(y)
    return growth, np.where(known, angle, np.where(np.isnan(x) & (y == 0.0), y, np.nan))


def endless_acos(x: Array, y: Array) -> Parts:
    """Returns an angle from 0 to pi with an infinity of the other sign than y, or NaN."""
    endless = np.isinf(x) | np.isinf(y)
    growth = np.where(endless, -_with_sign(np.inf, y), np.nan)
    behind = np.signbit(x)
    both = np.where(behind, 3, 1)
    quarters = np.where(np.isinf(y), np.where(np.isinf(x), both, 2), np.where(behind, 4, 0))
    known = ~np.isnan(x) & ~np.isnan(y)
    upright = np.isnan(y) & (x == 0.0)
    return np.where(known, quarters, np.where(upright, 2.0, np.nan)) * _QUARTER, growth


def endless_atanh(x: Array, y: Array) -> Parts:
    """Returns a zero with the angle pi/2, or NaN."""
    endless = np.isinf(x) | np.isinf(y)
    real = np.where(endless | (x == 0.0), _with_sign(0.0, x), np.nan)
    right = np.isinf(y) | (np.isinf(x) & ~np.isnan(y))
    return real, np.where(right, _with_sign(2 * _QUARTER, y), np.nan)


def endless_sinh(x: Array, y: Array) -> Parts:
    """Returns an infinity in the direction of the angle y; NaN where there is none."""
    turned, safe = np.isinf(x) & np.isfinite(y), np.where(np.isfinite(y), y, 0.0)
    real = np.where(turned, np.inf * maps.cos(safe) * np.copysign(1.0, x), np.nan)
    real = np.where(np.isinf(x) & ~turned, np.inf, np.where(x == 0.0, _with_sign(0.0, x), real))
    rise = np.where(
        turned & (y != 0.0), np.inf * maps.sin(np.where(safe == 0.0, 1.0, safe)), np.nan
    )
    return real, np.where(y == 0.0, y, rise)


def endless_cosh(x: Array, y: Array) -> Parts:
    """Returns an infinity in the direction of the angle y; NaN where there is none."""
    turned, safe = np.isinf(x) & np.isfinite(y), np.where(np.isfinite(y), y, 0.0)
    real = np.where(turned, np.inf * maps.cos(safe), np.where(np.isinf(x), np.inf, np.nan))
    sign = np.copysign(1.0, x)
    rise = np.inf * maps.sin(np.where(safe == 0.0, 1.0, safe)) * sign
    level = (y == 0.0) | (x == 0.0)
    zero = np.where(np.isfinite(y) & ~np.isnan(x), np.copysign(0.0, y) * sign, 0.0)
    zero = np.where(np.isnan(x) & (y == 0.0), y, zero)
    return real, np.where(level, zero, np.where(turned, rise, np.nan))


def endless_tanh(x: Array, y: Array) -> Parts:
    """Returns 1 with the sign of x beside a zero; NaN where x is finite, but that zero stays."""
    endless = np.isinf(x)
    safe = np.where(np.isfinite(y), y, 0.0)
    wave = np.copysign(0.0, maps.sin(safe) * maps.cos(safe))
    rest = np.where(np.isfinite(y), wave, _with_sign(0.0, y))
    real = np.where(endless, np.copysign(1.0, x), np.where(x == 0.0, x, np.nan))
    return real, np.where(endless, rest, np.where(np.isnan(x) & (y == 0.0), y, np.nan))


# From here on tanh is 1 and e**-2y below 2**-115 of it.
_LEVEL: Final = 40.0


def sinh(values: Array) -> Array:
    """Returns sinh x cos y + i cosh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        (first, second), scale = scaled_pair(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        real, imaginary = (first * cosine).value() * scale, (second * sine).value() * scale
        return complex_of(_signed(real, x, cosine.head), np.copysign(imaginary, _sign(sine, y)))

    return extended(finite, endless_sinh, values)


def cosh(values: Array) -> Array:
    """Returns cosh x cos y + i sinh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        (first, second), scale = scaled_pair(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        imaginary = (first * sine).value() * scale
        return complex_of((second * cosine).value() * scale, _signed(imaginary, x, _sign(sine, y)))

    return extended(finite, endless_cosh, values)


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

    return extended(finite, lambda x, y: endless_tanh(y, x)[::-1], values)


def extended(
    finite: Callable[[Array, Array], Array],
    special: Callable[[Array, Array], tuple[Array, Array]],
    values: Array,
) -> Array:
    """Returns `finite` of the parts where both are finite, the parts of `special` elsewhere."""
    mask = np.isfinite(values)
    result = np.empty_like(values)
    result[mask] = finite(values.real[mask], values.imag[mask])
    result[~mask] = complex_of(*special(values.real[~mask], values.imag[~mask]))
    return result
