"""The complement of the error function and the inverse of the error function, of real numbers.

Source: DLMF 7.9.1, the continued fraction of erfc. The inverse starts from a formula of three
digits, which three steps of Halley's method make exact.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import two_product
from topos.payload.kernels.expansion import refined_expansion
from topos.payload.kernels.exponential import exponential_pair
from topos.payload.kernels.mapping import Enclosure, scaled_ends
from topos.runtimes.interpreter.special.fields import filled, piecewise
from topos.runtimes.interpreter.special.wide import PI, TWO_OVER_ROOT_PI, Wide, constant, root

__all__ = ["erf_inv", "erfc"]

# Up to here 1 - erf x keeps 2**-75 of itself; from here on the fraction is short.
_NEAR: Final = 3.5
_LEVELS: Final = 60
_LAST: Final = 27.3
_TINY: Final = 2.0**-60
_ROOT_PI: Final = root(constant(PI))


def erfc(values: Array) -> Array:
    """Returns 1 - erf x, rounded once, also where it is subnormal."""
    pieces = (
        (values < -6.5, filled(2.0)),
        (values > _LAST, np.zeros_like),
        (values < _NEAR, lambda x: (Wide(np.ones_like(x)) - _erf(x)).value()),
        (values >= _NEAR, _far),
    )
    return piecewise(pieces, values)


def _erf(values: Array) -> Wide:
    magnitude = np.maximum(np.abs(values), _TINY)
    head, tail, _ = refined_expansion(magnitude)
    erf = Wide(head, tail).scaled(np.copysign(1.0, values))
    slope = constant(TWO_OVER_ROOT_PI)
    tiny = np.abs(values) < _TINY
    linear = Wide(np.where(tiny, values, 0.0)) * slope
    return Wide(np.where(tiny, linear.head, erf.head), np.where(tiny, linear.tail, erf.tail))


def _fraction(values: Array) -> Wide:
    """Returns sqrt(pi) e**(x * x) erfc x = 1 / (x + 1/2 / (x + 1 / (x + 3/2 / (x + ...))))."""
    x = Wide(values)
    total = x
    for level in range(_LEVELS, 0, -1):
        total = x + Wide(np.full_like(values, 0.5 * level)) / total
    return 1.0 / total


def _far(values: Array) -> Array:
    square, rest = two_product(values, values)
    pair, power = exponential_pair(-square, -rest)
    result = Wide(*pair) * _fraction(values) / _ROOT_PI
    return scaled_ends(Enclosure(*result.pair, np.zeros_like(values)), power)[0]


def erf_inv(values: Array) -> Array:
    """Returns the number whose error function is x; infinite at 1 and -1, NaN beyond."""
    magnitude = np.abs(values)
    pieces = (
        (magnitude < _TINY, _linear),
        (magnitude < 1.0, _inverse),
        (magnitude == 1.0, filled(np.inf)),
    )
    return np.where(values == values, np.copysign(piecewise(pieces, magnitude), values), np.nan)


def _linear(magnitude: Array) -> Array:
    # The products of subnormal halves would be lost.
    return (Wide(magnitude * 2.0**200) / constant(TWO_OVER_ROOT_PI)).value() * 2.0**-200


def _inverse(magnitude: Array) -> Array:
    """Returns the inverse for 0 < y < 1 by three steps of Halley's method.

    With u = (erf t - y) / erf' t the next t is t - u / (1 + t u). The differences come from wide
    numbers, so that the last u, of the size of a rounding, is known to float64.
    """
    guess = _guess(magnitude)
    for _ in range(3):
        newton = (_erf(guess) - magnitude).head / (TWO_OVER_ROOT_PI[0] * maps.exp(-guess * guess))
        guess = guess - newton / (1.0 + guess * newton)
    return guess


def _guess(magnitude: Array) -> Array:
    """Returns the inverse to a few digits, by its asymptotic form in w = -ln(1 - y**2).

    Source: Winitzki, A handy approximation for the error function and its inverse (2008).
    """
    logarithm = maps.log1p(-magnitude) + maps.log1p(magnitude)
    factor = 0.147
    middle = 2.0 / (np.pi * factor) + 0.5 * logarithm
    return np.sqrt(np.sqrt(middle * middle - logarithm / factor) - middle)
