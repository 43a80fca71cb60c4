"""The table of erf: Taylor coefficients about evenly spaced centers."""

from __future__ import annotations

import functools
import math
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.exact_series import error_integral, exponential, half_pi, shifted
from topos.payload.kernels.rounding import Array

__all__ = ["CENTERS_PER_UNIT", "DEGREE", "ErfTable", "erf_table"]

CENTERS_PER_UNIT: Final = 64
DEGREE: Final = 9
_LAST: Final = 6 * CENTERS_PER_UNIT
_PLACES: Final = 256


class ErfTable(NamedTuple):
    """Coefficients of erf(c + h) = sum of coefficients[n] h**n, a row for every power n.

    Column i is for the center c = i / 64, up to c = 6. `tails` holds what the float64
    coefficients of powers 0 and 1 lack, so that each pair is exact to 2**-100.
    """

    coefficients: Array
    tails: Array


@functools.cache
def erf_table() -> ErfTable:
    """Returns the table, computed on first use in exact integer arithmetic."""
    columns = [_expansion(center) for center in range(_LAST + 1)]
    rows = [[_float(entry) for entry in row] for row in zip(*columns, strict=True)]
    pairs = [(column[0], column[1]) for column in columns]
    tails = [[_tail(pair[power]) for pair in pairs] for power in (0, 1)]
    return ErfTable(np.array(rows), np.array(tails))


def _expansion(center: int) -> list[int]:
    """Returns the fixed-point coefficients about center / 64.

    The derivative g(h) = 2/sqrt(pi) exp(-(c + h)**2) satisfies g' = -2 (c + h) g, a recurrence
    for its coefficients; erf's own are theirs, integrated.
    """
    point = shifted(center, _PLACES) // CENTERS_PER_UNIT
    scaled, power = exponential(shifted(-point * point, 24 - _PLACES), _PLACES)
    root = math.isqrt((1 << 3 * _PLACES + 1) // half_pi(_PLACES))
    weight = shifted(scaled * root, power - _PLACES)
    slopes = [weight, shifted(-2 * point * weight, -_PLACES)]
    for order in range(2, DEGREE):
        falling = shifted(point * slopes[-1], -_PLACES) + slopes[-2]
        slopes.append(-2 * falling // order)
    value = shifted(error_integral(point, _PLACES) * weight, -_PLACES)
    return [value, *(slope // (order + 1) for order, slope in enumerate(slopes))]


def _float(entry: int) -> float:
    return entry / (1 << _PLACES)


def _tail(entry: int) -> float:
    head, _ = _float(entry).as_integer_ratio(), None
    return (entry - (head[0] << _PLACES) // head[1]) / (1 << _PLACES)
