"""The modified Bessel function of the first kind and order one, times e**-|x|.

Sources: DLMF 10.25.2 (the power series, whose terms are all of one sign) and 10.40.1 (the
expansion about infinity, of which 52 terms beyond x = 30 leave less than 2**-85).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.pairs import Constant
from topos.runtimes.interpreter.special.fields import Field, piecewise
from topos.runtimes.interpreter.special.wide import PI, pair_of

__all__ = ["bessel_i1e"]


_FAR: Final = 30.0
_TERMS: Final = 70
_FAR_TERMS: Final = 52
_TINY: Final = 2.0**-60
_HUGE: Final = 2.0**200


def bessel_i1e(field: Field, values: Array) -> Array:
    """Returns e**-|x| I1(x), which is odd and vanishes at both infinities."""
    magnitude = np.abs(values)
    pieces = (
        (magnitude < _TINY, lambda x: 0.5 * x),
        (magnitude < _FAR, partial(_series, field)),
        (magnitude < _HUGE, partial(_expansion, field)),
        (magnitude < np.inf, lambda x: 1.0 / (np.sqrt(x) * np.sqrt(2.0 * np.pi))),
        (magnitude == np.inf, np.zeros_like),
    )
    return np.copysign(piecewise(pieces, magnitude), values)


def _series(field: Field, magnitude: Array) -> Array:
    half = field.of(0.5 * magnitude)
    square, total = half * half, field.of(np.ones_like(magnitude))
    for index in range(_TERMS, 0, -1):
        total = square * total / float(index * (index + 1)) + 1.0
    return field.value(half * total * field.exponential(field.of(-magnitude)))


def _expansion(field: Field, magnitude: Array) -> Array:
    x = field.of(magnitude)
    inverse, total = 1.0 / x, field.of(np.zeros_like(magnitude))
    for weight in reversed(_weights()):
        total = total * inverse + field.constant(weight)
    return field.value(total / field.root(x * 2.0 * field.constant(PI)))


@cache
def _weights() -> tuple[Constant, ...]:
    """Returns (-1)**k a_k of order one: a_k = a_(k-1) (4 - (2k - 1)**2) / (8 k)."""
    weight, weights = Fraction(1), [pair_of(Fraction(1))]
    for index in range(1, _FAR_TERMS):
        weight *= Fraction((2 * index - 1) ** 2 - 4, 8 * index)
        weights.append(pair_of(weight))
    return tuple(weights)
