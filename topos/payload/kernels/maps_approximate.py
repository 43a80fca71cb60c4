"""Approximate maps: float64 evaluations within 2**-46, where numpy has none or a slow one."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.tables import circle_table
from topos.payload.kernels.tables_expansion import CENTERS_PER_UNIT, erf_expansions

__all__ = [
    "approximate_cos",
    "approximate_erf",
    "approximate_logistic",
    "approximate_rsqrt",
    "approximate_sin",
]

_REACH: Final = 2.0**18
# Adding this number rounds to an integer and leaves it in the last bits of the sum.
_ANCHOR: Final = 1.5 * 2.0**52


def approximate_logistic(values: Array) -> Array:
    """Returns 1 / (1 + e**-x); three roundings atop those of exp."""
    growth = np.exp(-values)
    growth += 1.0
    return np.divide(1.0, growth, out=growth)


def approximate_rsqrt(values: Array) -> Array:
    """Returns 1 / sqrt(x); two roundings, and -inf at -0."""
    root = np.sqrt(values)
    return np.divide(1.0, root, out=root)


def approximate_erf(values: Array) -> Array:
    """Returns erf by the Taylor polynomial about the nearest center, |h| <= 1/128.

    About 0 the sum is h a1 (1 - h*h/3 + ...), elsewhere a0 is at least twice |h| a1, so that the
    value never cancels below 2**-7: the roundings cost it 2**-50 at most, relatively, and the
    remainder a8 h**8, below 0.1 * 2**-56, costs 2**-52.
    """
    coefficients = erf_expansions().coefficients
    magnitude = np.minimum(np.abs(values), 6.0)
    nearest = np.rint(magnitude * CENTERS_PER_UNIT)
    step = magnitude - nearest * (1.0 / CENTERS_PER_UNIT)
    # A NaN has no center: `clip` gives it some column, and its step stays NaN.
    column = nearest.astype(np.intp)
    total: Array = coefficients[7].take(column, mode="clip")
    for power in range(6, -1, -1):
        total *= step
        total += coefficients[power].take(column, mode="clip")
    signed: Array = np.copysign(total, values)
    return signed


def approximate_sin(values: Array) -> Array:
    """Returns the sine, faster than numpy's for float32 numbers below 2**18."""
    if not np.abs(values).max() <= _REACH:
        return np.sin(values)
    result = _circular(values, 0)
    # The sum of products loses the sign of zero.
    zero = values == 0.0
    result[zero] = values[zero]
    return result


def approximate_cos(values: Array) -> Array:
    """Returns the cosine, faster than numpy's for float32 numbers below 2**18."""
    return _circular(values, 128) if np.abs(values).max() <= _REACH else np.cos(values)


def _circular(values: Array, turn: int) -> Array:
    """Returns sin(x + turn pi/256) as sin(a + r), with |r| <= pi/512 and x of 24 bits.

    |r| exceeds 2**-30 for such x unless x = r, so that the error of r, 2**-53 r + 2**-86, is
    under 2**-52 of it. Where sin a is not 0 it is twice |r| at least: nothing cancels, and the
    cut series, r**6/720 and r**7/5040, cost 2**-53.
    """
    table = circle_table()
    first, second, third, fourth = table.step
    anchored = values * table.steps_per_unit + _ANCHOR
    count = anchored - _ANCHOR
    near = ((values - count * first) - count * second) - count * (third + fourth)
    index = (anchored.view(np.int64) + turn) & 511
    sine = table.whole.take(index)
    index += 128
    index &= 511
    cosine = table.whole.take(index)
    square = near * near
    fall = square * (square * (1 / 24) - 0.5)
    near += near * square * (square * (1 / 120) - 1 / 6)
    near *= cosine
    fall *= sine
    return sine + (fall + near)
