"""The hyperbolic sine and cosine and the tangent of complex numbers.

Each takes and returns complex128 arrays; both parts are rounded once from wide numbers. Where a
part is infinite or NaN the results are numpy's, which are those of C99, Annex G.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_arithmetic import complex_of
from topos.runtimes.interpreter.special.hyperbolic import scaled_pair, sinh_cosh
from topos.runtimes.interpreter.special.wide import Wide, exponential, sine_cosine, where

__all__ = ["cosh", "extended", "sinh", "tan"]

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
