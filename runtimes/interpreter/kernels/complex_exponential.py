"""Complex exponentials: exp, expm1, logistic and power.

Products by a large exponential are taken by its square root twice, so that they overflow only
where the result does.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import maps
from topos.payload.kernels.double_double import fast_two_sum, two_sum
from topos.payload.kernels.maps_exponential import exponential_parts, scaled, small_expm1
from topos.payload.kernels.pairs import Pair, pair_product, pair_sum, pair_times
from topos.runtimes.interpreter.kernels.complex_logarithm import argument, log_modulus
from topos.runtimes.interpreter.special.complex_arithmetic import divide
from topos.runtimes.interpreter.special.complex_parts import Parts, circle

__all__ = ["exp", "expm1", "expm1_pair", "grown", "logistic", "power"]

Array = npt.NDArray[Any]
_FAR: Final = 700.0


def grown(exponent: Array, factor: Array) -> Array:
    """Returns e**exponent * factor; a factor of zero stays, whatever it multiplies."""
    result = maps.exp(exponent) * factor
    far = np.abs(exponent) > _FAR
    if far.any():
        half = maps.exp(exponent[far] * 0.5)
        result[far] = half * factor[far] * half
    return np.where(factor == 0.0, factor, result)


def exp(x: Array, y: Array) -> Parts:
    """Returns e**x cos y and e**x sin y."""
    return grown(x, maps.cos(y)), grown(x, maps.sin(y))


def expm1(x: Array, y: Array) -> Parts:
    """Returns e**x cos y - 1, also where that cancels, and e**x sin y.

    The real part is (e**x - 1) cos y - 2 sin(y/2)**2, in pairs.
    """
    (_, cosine), (half, _) = circle(y), circle(y * 0.5)
    fall = pair_product(half, half)
    total = pair_sum(pair_product(expm1_pair(x), cosine), (-2.0 * fall[0], -2.0 * fall[1]))
    far = np.abs(x) > 50.0
    wide = grown(x, maps.cos(y)) - 1.0
    # What is smaller than the products of pairs can be is linear.
    tiny = (np.abs(x) < 2.0**-500) & (np.abs(y) < 2.0**-500)
    real = np.where(far, wide, np.where(tiny, x - 0.5 * y * y, total[0] + total[1]))
    return real, grown(x, maps.sin(y))


def expm1_pair(x: Array) -> Pair:
    """Returns e**x - 1 for |x| <= 50, within 2**-58 of it relatively."""
    head, tail, exponent = exponential_parts(np.clip(x, -50.0, 50.0))
    head, lost = two_sum(scaled(head, exponent), -1.0)
    head, tail = fast_two_sum(head, lost + scaled(tail, exponent))
    near = np.abs(x) < 2.0**-6
    small = small_expm1(np.where(near, x, 0.0))
    return np.where(near, small.head, head), np.where(near, small.tail, tail)


def logistic(x: Array, y: Array) -> Parts:
    """Returns 1 / (1 + e**-z)."""
    real, imaginary = exp(-x, -y)
    one = np.ones_like(x)
    near = np.abs(x) <= 50.0
    result = divide(
        (one, np.zeros_like(x)), (np.where(near, _one_more(-x, y), real + 1.0), imaginary)
    )
    # From here on 1 is nothing beside e**-z.
    below = x < -40.0
    shrunk = exp(x, y)
    return np.where(below, shrunk[0], result[0]), np.where(below, shrunk[1], result[1])


def _one_more(x: Array, y: Array) -> Array:
    """Returns e**x cos y + 1, also where that cancels: (e**x - 1) cos y + 2 cos(y/2)**2."""
    (_, cosine), (_, half) = circle(y), circle(y * 0.5)
    rise = pair_product(half, half)
    total = pair_sum(pair_product(expm1_pair(x), cosine), (2.0 * rise[0], 2.0 * rise[1]))
    return np.asarray(total[0] + total[1])


def power(base: Parts, exponent: Parts) -> Parts:
    """Returns e**(w ln z) by its principal branch; z**0 is 1, and 0**w is 0 where Re w > 0."""
    (x, y), (c, d) = base, exponent
    size, angle = log_modulus(x, y), argument(x, y)
    grow = pair_sum(pair_times(size, c), pair_times(angle, -d))
    turn = pair_sum(pair_times(size, d), pair_times(angle, c))
    magnitude, binary = _exponential(grow)
    (sine, sine_tail), (cosine, cosine_tail) = circle(turn[0])
    real = magnitude * (cosine + (cosine_tail - sine * turn[1]))
    imaginary = magnitude * (sine + (sine_tail + cosine * turn[1]))
    return _power_special(base, exponent, (np.ldexp(real, binary), np.ldexp(imaginary, binary)))


def _exponential(pair: Pair) -> tuple[Array, Array]:
    """Returns m and k with e**pair = m 2**k; past the range of float64 k says so."""
    head, tail, binary = exponential_parts(np.clip(pair[0], -790.0, 790.0), pair[1])
    return head + tail, np.clip(binary, -3000, 3000).astype(np.int32)


def _power_special(base: Parts, exponent: Parts, result: Parts) -> Parts:
    (x, y), (c, d) = base, exponent
    whole = (c == 0.0) & (d == 0.0)
    nothing = (x == 0.0) & (y == 0.0) & ~whole
    vanishes = nothing & (c > 0.0)
    real = np.where(whole, 1.0, np.where(vanishes, 0.0, np.where(nothing, np.nan, result[0])))
    rest = np.where(whole | vanishes, 0.0, np.where(nothing, np.nan, result[1]))
    return real, rest
