"""The hyperbolic sine and cosine and the tangent of complex numbers.

Each takes and returns complex128 arrays; both parts are rounded once from wide numbers. Where a
part is infinite or NaN the results are those of C99, Annex G.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special import complex_limits
from topos.runtimes.interpreter.special.complex_inverse import extended, joined
from topos.runtimes.interpreter.special.hyperbolic import scaled_pair, sinh_cosh
from topos.runtimes.interpreter.special.wide import Wide, exponential, sine_cosine, where

__all__ = ["cosh", "sinh", "tan"]


# From here on tanh is 1 and e**-2y below 2**-115 of it.
_LEVEL: Final = 40.0


def sinh(values: Array) -> Array:
    """Returns sinh x cos y + i cosh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        first, second, scale = _scaled(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        real, imaginary = (first * cosine).value() * scale, (second * sine).value() * scale
        return joined(_signed(real, x, cosine.head), np.copysign(imaginary, _sign(sine, y)))

    return extended(finite, complex_limits.sinh, values)


def cosh(values: Array) -> Array:
    """Returns cosh x cos y + i sinh x sin y."""

    def finite(x: Array, y: Array) -> Array:
        first, second, scale = _scaled(np.abs(x))
        sine, cosine = sine_cosine(Wide(y))
        imaginary = (first * sine).value() * scale
        return joined((second * cosine).value() * scale, _signed(imaginary, x, _sign(sine, y)))

    return extended(finite, complex_limits.cosh, values)


def _sign(sine: Wide, angle: Array) -> Array:
    """Returns numbers with the sign of the sine, which is that of the angle where it is zero."""
    return np.where(sine.head == 0.0, angle, sine.head)


def _signed(array: Array, first: Array, second: Array) -> Array:
    """Returns `array` with the product of two signs: zeros lose theirs in wide numbers."""
    sign = np.copysign(1.0, first) * np.copysign(1.0, second)
    return np.asarray(np.copysign(array, sign))


def _scaled(magnitude: Array) -> tuple[Wide, Wide, Array]:
    (sine, scale), (cosine, _) = (scaled_pair(magnitude, side) for side in (0, 1))
    return sine, cosine, scale


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
        return joined(real, np.copysign(imaginary, y))

    return extended(finite, _endless_tan, values)


def _endless_tan(x: Array, y: Array) -> tuple[Array, Array]:
    return complex_limits.tanh(y, x)[::-1]
