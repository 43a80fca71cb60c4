"""The wide power: enclosures of x**y in float64, in the two phases of the wide maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, pair_times, two_product
from topos.payload.kernels.exponential import (
    EXPONENTIAL_ERROR,
    REFINED_EXPONENTIAL_ERROR,
    exponential_pair,
    exponential_parts,
    scaled,
)
from topos.payload.kernels.logarithm import (
    REFINED_LOGARITHM_ERROR,
    logarithm_pair,
    logarithm_parts,
    raised_subnormals,
)
from topos.payload.kernels.mapping import Enclosure, Ends, ends, patch, scaled_ends

_SMALLEST = 2.0**-1022
_LARGEST = np.finfo(np.float64).max
# Only 1 has a power that neither overflows nor vanishes at 2**64, and 1 it is for every y.
_STEEPEST = 2.0**64
# e**-746 rounds to zero and e**711 overflows.
_LOWEST = -746.0
_HIGHEST = 711.0

# Encloses x**y for x = base / 2**lift with a normal base, and finite y.
Positive = Callable[[Array, Array, Array | int], Ends]


def bracket_power(bases: Array, exponents: Array) -> Ends:
    """Encloses x**y to about 2**-63."""
    return _signed(bases, exponents, _quick)


def refined_power(bases: Array, exponents: Array) -> Ends:
    """Encloses x**y to about 2**-92."""
    return _signed(bases, exponents, _refined)


def _signed(bases: Array, exponents: Array, positive: Positive) -> Ends:
    magnitude = np.abs(bases)
    usual = (magnitude >= _SMALLEST) & (magnitude <= _LARGEST) & (np.abs(exponents) <= _LARGEST)
    if usual.all():
        low, high = positive(magnitude, exponents, 0)
        negative = bases < 0.0
    else:
        low, high = _any_magnitude(magnitude, exponents, positive)
        negative = np.signbit(bases) & (bases == bases)
    if negative.any():
        _negate(negative, magnitude, exponents, (low, high))
    return low, high


def _any_magnitude(magnitude: Array, exponents: Array, positive: Positive) -> Ends:
    inside = (magnitude > 0.0) & (magnitude <= _LARGEST) & (np.abs(exponents) <= _LARGEST)
    base, lift = raised_subnormals(np.where(inside, magnitude, 1.0))
    both = positive(base, np.where(inside, exponents, 1.0), lift)
    special = _special(magnitude[~inside], exponents[~inside])
    return patch(both, ~inside, special)


def _special(magnitude: Array, exponents: Array) -> Array:
    """Returns x**y for x >= 0 where x is zero or infinite, y is infinite, or one is no number."""
    # Zero has large powers at negative exponents, and so has any number below 1 at -infinity.
    vanishes = (magnitude < 1.0) == (exponents > 0.0)
    result = np.where(vanishes, 0.0, np.inf)
    result[(magnitude == 1.0) | (exponents == 0.0)] = 1.0
    result[(magnitude != magnitude) & (exponents != 0.0)] = np.nan
    result[(exponents != exponents) & (magnitude != 1.0)] = np.nan
    return result


def _negate(negative: Array, magnitude: Array, exponents: Array, both: Ends) -> None:
    """Writes the powers of negative bases: signed at odd integers, NaN elsewhere but at even."""
    half = 0.5 * exponents
    whole = np.rint(exponents) == exponents
    odd = negative & whole & (np.rint(half) != half)
    invalid = negative & ~whole & (magnitude > 0.0) & (magnitude <= _LARGEST)
    for each in both:
        each[odd] = -each[odd]
        each[invalid] = np.nan


def _quick(bases: Array, exponents: Array, lift: Array | int) -> Ends:
    product, rest, error = _product(bases, exponents, lift)
    enclosure, power = _raised(product, rest, error)
    low, high = ends(*enclosure)
    low, high = scaled(low, power), scaled(high, power)
    far = (product > _HIGHEST) | (product < -706.0)
    if far.any():
        enclosure, power = _raised(*_bounded(product[far], rest[far], error[far]))
        patch((low, high), far, *scaled_ends(enclosure, power))
    return low, high


def enclosed_power(bases: Array, exponents: Array) -> tuple[Enclosure, Array]:
    """Encloses x**y / 2**k for normal x > 0 where |y ln x| < 706, and returns k."""
    return _raised(*_product(bases, exponents, 0))


def _product(bases: Array, exponents: Array, lift: Array | int) -> tuple[Array, Array, Array]:
    """Returns y ln x as head and tail, and its absolute error.

    That is the error of the logarithm, times |y|; the product itself is exact to 2**-104 of it.
    """
    logarithm = logarithm_parts(bases, lift=lift)
    head, tail = fast_two_sum(logarithm.head, logarithm.tail)
    raised = np.minimum(np.maximum(exponents, -_STEEPEST), _STEEPEST)
    product, rest = two_product(head, raised)
    return product, rest + tail * raised, np.abs(raised) * logarithm.error


def _raised(product: Array, rest: Array, error: Array) -> tuple[Enclosure, Array]:
    """Encloses e**(product + rest) / 2**k: an absolute error becomes a relative one."""
    bounded = np.minimum(np.maximum(product, _LOWEST), _HIGHEST)
    head, tail, power = exponential_parts(bounded, rest)
    return Enclosure(head, tail, head * (EXPONENTIAL_ERROR * 1.0625 + error)), power


def _bounded(product: Array, rest: Array, error: Array) -> tuple[Array, Array, Array]:
    """Moves a product to where its power still overflows or vanishes, and drops its rest there."""
    bounded = np.minimum(np.maximum(product, _LOWEST), _HIGHEST)
    inside = bounded == product
    return bounded, np.where(inside, rest, 0.0), np.where(inside, error, 0.0)


def refined_enclosed_power(
    bases: Array, exponents: Array, lift: Array | int
) -> tuple[Enclosure, Array]:
    """Encloses x**y / 2**k, within 2**-101 (1 + |y ln x|) relatively, and returns k.

    The error of the logarithm times |y| is absolute in the exponent, relative in the power.
    """
    raised = np.minimum(np.maximum(exponents, -_STEEPEST), _STEEPEST)
    product, rest = pair_times(logarithm_pair(bases, None, lift), raised)
    error = np.abs(product) * (1.25 * REFINED_LOGARITHM_ERROR)
    product, rest, error = _bounded(product, rest, error)
    (head, tail), power = exponential_pair(product, rest)
    return Enclosure(head, tail, head * (1.25 * REFINED_EXPONENTIAL_ERROR + error)), power


def _refined(bases: Array, exponents: Array, lift: Array | int) -> Ends:
    return scaled_ends(*refined_enclosed_power(bases, exponents, lift))
