"""The length of a point, correctly rounded."""

from __future__ import annotations

import math

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import two_product
from topos.payload.kernels.exact import dyadic
from topos.payload.kernels.pairs import pair_sum
from topos.payload.kernels.rounding import BINARY32, BINARY64, Format, nearest
from topos.runtimes.interpreter.special.wide import Wide, enclosed, root

__all__ = ["hypot"]


def hypot(x: Array, y: Array, target: Format = BINARY64) -> Array:
    """Returns sqrt(x*x + y*y) of flat float64 arrays, rounded once to `target`.

    `target` is binary64, or binary32 where all numbers are of that format. An infinite part makes
    the result infinite, even if the other one is NaN.
    """
    large, small = (choose(np.abs(x), np.abs(y)) for choose in (np.maximum, np.minimum))
    inside = np.isfinite(large) & (large > 0.0)
    large, small = np.where(inside, large, 1.0), np.where(inside, small, 0.0)
    low, high = (_short if target is BINARY32 else _long)(large, small)
    for lane in np.flatnonzero(low != high).tolist():
        low[lane] = _at(float(large[lane]), float(small[lane]), target)
    endless, nothing = np.isinf(x) | np.isinf(y), (x == 0.0) & (y == 0.0)
    special = np.where(endless, np.inf, np.where(nothing, 0.0, np.nan)).astype(target.dtype)
    return np.where(inside, low, special)


def _short(large: Array, small: Array) -> tuple[Array, Array]:
    # Squares of 24 bits are exact; the sum and the root lose 2**-52.
    size = np.sqrt(large * large + small * small)
    return (size * (1 - 2.0**-50)).astype(np.float32), (size * (1 + 2.0**-50)).astype(np.float32)


def _long(large: Array, small: Array) -> tuple[Array, Array]:
    exponent = np.frexp(large)[1]
    first, second = np.ldexp(large, -exponent), np.ldexp(small, -exponent)
    # So little beside the large part is less than half a unit of its last place.
    alone = second < 2.0**-28
    second = np.where(alone, 0.0, second)
    square = Wide(*pair_sum(two_product(first, first), two_product(second, second)))
    low, high = enclosed(root(square), alone, first)
    # Subnormal results round at another place.
    return np.ldexp(low, exponent), np.where(exponent < -1020, np.nan, np.ldexp(high, exponent))


def _at(large: float, small: float, target: Format) -> float:
    if small == 0.0:
        return large
    (first, power), (second, other) = dyadic(large), dyadic(small)
    unit = min(power, other)
    square = (first << power - unit) ** 2 + (second << other - unit) ** 2
    # One bit more than the root tells whether anything is left below it.
    root = math.isqrt(square << 256)
    rest = root * root != square << 256
    return nearest(2 * root + rest, unit - 129, target)
