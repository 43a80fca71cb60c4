"""The exact power: correctly rounded x**y at one pair of numbers, by integer arithmetic."""

from __future__ import annotations

import math

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.exact import decided, dyadic, logarithm_of
from topos.payload.kernels.exact_series import exponential, shifted
from topos.payload.kernels.rounding import Format, nearest

__all__ = ["power_at", "power_each"]


def power_each(bases: Array, exponents: Array, target: Format) -> Array:
    """Returns the powers of float64 pairs (one axis), each distinct pair computed once."""
    first, first_place = np.unique(bases.view(np.uint64), return_inverse=True)
    second, second_place = np.unique(exponents.view(np.uint64), return_inverse=True)
    pairs, inverse = np.unique(first_place * second.size + second_place, return_inverse=True)
    base = first[pairs // second.size].view(np.float64).tolist()
    exponent = second[pairs % second.size].view(np.float64).tolist()
    results = [power_at(x, y, target) for x, y in zip(base, exponent, strict=True)]
    return np.array(results, np.float64)[inverse].astype(target.dtype)


def power_at(base: float, exponent: float, target: Format) -> float:
    """Returns base**exponent correctly rounded to `target`, special cases as `pow` of C99."""
    if exponent == 0.0 or base == 1.0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent):
        return math.nan
    if math.isinf(exponent):
        return _at_infinite_exponent(abs(base), exponent)
    odd = exponent % 2.0 == 1.0
    if base == 0.0 or math.isinf(base):
        vanishes = (base == 0.0) == (exponent > 0.0)
        return math.copysign(0.0 if vanishes else math.inf, base if odd else 1.0)
    if base < 0.0 and not exponent.is_integer():
        return math.nan
    magnitude = 1.0 if base == -1.0 else _magnitude(abs(base), exponent, target)
    return -magnitude if base < 0.0 and odd else magnitude


def _at_infinite_exponent(magnitude: float, exponent: float) -> float:
    if magnitude == 1.0:
        return 1.0
    return math.inf if (magnitude > 1.0) == (exponent > 0.0) else 0.0


def _magnitude(base: float, exponent: float, target: Format) -> float:
    integer, scale = dyadic(base)
    size = exponent * (math.log2(integer) + scale)
    # Beyond these powers of two every format overflows or rounds to zero.
    if size > 1100.0:
        return math.inf
    if size < -1200.0:
        return 0.0
    whole = _dyadic_power(integer, scale, *dyadic(exponent))
    if whole is not None:
        return nearest(*whole, target)
    return decided(lambda places: _enclosure(integer, scale, exponent, places), target)


def _dyadic_power(integer: int, scale: int, number: int, places: int) -> tuple[int, int] | None:
    """Returns (integer * 2**scale)**(number * 2**places) where it is a short binary fraction.

    Only these can be numbers or midpoints of a format, so all other powers round decidedly.
    An odd integer has a dyadic root only where it is a square as often as the root asks.
    """
    while places < 0:
        root = math.isqrt(integer)
        if scale & 1 or root * root != integer:
            return None
        integer, scale, places = root, scale >> 1, places + 1
    whole = number << places
    if integer == 1:
        return 1, scale * whole
    if whole < 0 or whole * (integer.bit_length() - 1) > 64:
        return None
    return integer**whole, scale * whole


def _enclosure(integer: int, scale: int, exponent: float, places: int) -> tuple[int, int]:
    # The product is below 2**10, so forty places more leave less than a unit of error in it.
    logarithm, unit = logarithm_of(integer, scale, places + 40)
    number, binary = dyadic(exponent)
    argument = shifted(number * logarithm, unit + binary + places + 24)
    scaled, power = exponential(argument, places)
    return scaled, power - places
