"""Complex circular and hyperbolic maps: sin, cos, tan, tanh and atan2."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import canonical
from topos.payload.kernels.pairs import Pair, pair_product, pair_quotient, pair_sum
from topos.runtimes.interpreter.kernels.complex_exponential import expm1_pair, grown
from topos.runtimes.interpreter.kernels.complex_logarithm import log
from topos.runtimes.interpreter.special.complex_arithmetic import add, divide, multiply, sqrt
from topos.runtimes.interpreter.special.complex_parts import Parts, circle, quarter

__all__ = ["atan2", "cos", "sin", "tan", "tanh"]

Array = npt.NDArray[Any]
# From here on e**-|x| is nothing beside e**|x|, also in what the tangent needs.
_FAR: Final = 20.0


def _cosh_times(y: Array, factor: Array) -> Array:
    growth = maps.exp(np.minimum(np.abs(y), _FAR))
    near = factor * (0.5 * growth + 0.5 / growth)
    return np.where(np.abs(y) <= _FAR, near, grown(np.abs(y), 0.5 * factor))


def _sinh_times(y: Array, factor: Array) -> Array:
    near = factor * _sinh(np.clip(y, -_FAR, _FAR))
    return np.where(np.abs(y) <= _FAR, near, grown(np.abs(y), np.copysign(0.5, y) * factor))


def _sinh(y: Array) -> Array:
    growth = maps.expm1(np.abs(y))
    return np.copysign(0.5 * (growth + growth / (growth + 1.0)), y)


def sin(x: Array, y: Array) -> Parts:
    """Returns sin x cosh y and cos x sinh y."""
    return _cosh_times(y, maps.sin(x)), _sinh_times(y, maps.cos(x))


def cos(x: Array, y: Array) -> Parts:
    """Returns cos x cosh y and -sin x sinh y."""
    return _cosh_times(y, maps.cos(x)), _sinh_times(y, -maps.sin(x))


def tanh(x: Array, y: Array) -> Parts:
    """Returns sinh x cosh x and sin y cos y over sinh(x)**2 + cos(y)**2, of pairs."""
    sine, cosine = circle(y)
    small, large = _hyperbolic(np.clip(x, -_FAR, _FAR))
    size = pair_sum(pair_product(small, small), pair_product(cosine, cosine))
    real = pair_quotient(pair_product(small, large), size)
    imaginary = pair_quotient(pair_product(sine, cosine), size)
    far = np.abs(x) > _FAR
    # There 4 e**-2|x| is one over the square, and the real part rounds to 1.
    shrunk = grown(-2.0 * np.abs(x), 4.0 * sine[0] * cosine[0])
    shrunk = np.where(np.isinf(x), np.copysign(0.0, np.where(np.isfinite(y), shrunk, y)), shrunk)
    whole = np.where(np.isfinite(y) | np.isinf(x), np.copysign(1.0, x), np.nan)
    return (
        np.where(far, whole, np.where(x == 0.0, x, real[0])),
        np.where(far, shrunk, np.where(y == 0.0, y, imaginary[0])),
    )


def _hyperbolic(x: Array) -> tuple[Pair, Pair]:
    """Returns sinh x and cosh x for |x| <= 20: with E = e**x, half of (E - 1)(1 + 1/E), E + 1/E."""
    less = expm1_pair(x)
    one = np.ones_like(x), np.zeros_like(x)
    growth = pair_sum(less, one)
    inverse = pair_quotient(one, growth)
    small = pair_product(less, pair_sum(one, inverse))
    large = pair_sum(growth, inverse)
    return (0.5 * small[0], 0.5 * small[1]), (0.5 * large[0], 0.5 * large[1])


def tan(x: Array, y: Array) -> Parts:
    """Returns -i tanh(iz)."""
    real, imaginary = tanh(*quarter(x, y))
    return imaginary, -real


def atan2(left: Parts, right: Parts) -> Parts:
    """Returns -i log((x + iy) / sqrt(x*x + y*y)), of complex y and x."""
    # A root and an argument look at signs, and the sign of a new NaN is the processor's.
    squares = map(canonical, add(multiply(right, right), multiply(left, left)))
    quotient = map(canonical, divide(add(right, quarter(*left)), sqrt(*squares)))
    real, imaginary = log(*quotient)
    return imaginary, -real
