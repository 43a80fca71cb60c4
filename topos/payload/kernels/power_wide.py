"""The wide power: a double-double enclosure of x**y in float64."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, two_product
from topos.payload.kernels.maps_exponential import EXPONENTIAL_ERROR, exponential_parts, scaled
from topos.payload.kernels.maps_logarithm import logarithm_parts
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends

__all__ = ["bracket_power", "enclosed_power"]

_SMALLEST = 2.0**-1022
_LARGEST = np.finfo(np.float64).max


def bracket_power(bases: Array, exponents: Array) -> Ends:
    """Encloses x**y; zero, subnormal and infinite bases and infinite exponents stay open."""
    magnitude = np.abs(bases)
    inside = (magnitude >= _SMALLEST) & (magnitude <= _LARGEST) & (np.abs(exponents) <= _LARGEST)
    whole = inside.all()
    if whole:
        low, high = _positive_power(magnitude, exponents)
    else:
        base, exponent = np.where(inside, magnitude, 1.0), np.where(inside, exponents, 1.0)
        low, high = _positive_power(base, exponent)
        nan = (bases != bases) | (exponents != exponents)
        low[~inside], high[~inside] = 0.0, 1.0
        low[nan] = np.nan
    negative = bases < 0.0
    if negative.any():
        half = 0.5 * exponents
        odd = (np.rint(half) != half) & inside & negative
        low[odd], high[odd] = -low[odd], -high[odd]
        low[negative & inside & (np.rint(exponents) != exponents)] = np.nan
    return low, high


def _positive_power(bases: Array, exponents: Array) -> Ends:
    product, rest, error = _product(bases, exponents)
    enclosure, power = _raised(product, rest, error)
    low, high = ends(*enclosure)
    low, high = scaled(low, power), scaled(high, power)
    far = (product > 711.0) | (product < -706.0)
    if far.any():
        _close_far(product, far, low, high)
    return low, high


def enclosed_power(bases: Array, exponents: Array) -> tuple[Enclosure, Array]:
    """Encloses x**y / 2**k for normal x > 0 where |y ln x| < 706, and returns k."""
    return _raised(*_product(bases, exponents))


def _product(bases: Array, exponents: Array) -> tuple[Array, Array, Array]:
    """Returns y ln x as head and tail, and its absolute error.

    That is the error of the logarithm, times |y|; the product itself is exact to 2**-104 of it.
    """
    logarithm = logarithm_parts(bases)
    head, tail = fast_two_sum(logarithm.head, logarithm.tail)
    # Only 1 has a power that neither overflows nor vanishes at 2**64, and 1 it is for every y.
    raised = np.minimum(np.maximum(exponents, -(2.0**64)), 2.0**64)
    product, rest = two_product(head, raised)
    return product, rest + tail * raised, np.abs(raised) * logarithm.error


def _raised(product: Array, rest: Array, error: Array) -> tuple[Enclosure, Array]:
    """Encloses e**(product + rest) / 2**k: an absolute error becomes a relative one."""
    bounded = np.minimum(np.maximum(product, -706.0), 711.0)
    head, tail, power = exponential_parts(bounded, rest)
    return Enclosure(head, tail, head * (EXPONENTIAL_ERROR * 1.0625 + error)), power


def _close_far(product: Array, far: Array, low: Array, high: Array) -> None:
    """Writes overflows and zeros, which are certain, and opens the subnormal powers."""
    reach = product[far]
    low[far] = np.where(reach > 0.0, np.inf, 0.0)
    high[far] = np.where(reach > 0.0, np.inf, np.where(reach < -746.0, 0.0, 1.0))
