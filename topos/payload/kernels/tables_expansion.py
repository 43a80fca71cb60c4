"""Expansions: Taylor coefficients of erf and tanh about evenly spaced centers."""

from __future__ import annotations

import functools
import math
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.exact_series import error_integral, exponential, half_pi, shifted
from topos.payload.kernels.tables import PLACES, parts

__all__ = [
    "CENTERS_PER_UNIT",
    "DEGREE",
    "Expansions",
    "erf_about",
    "erf_expansions",
    "tanh_expansions",
]

CENTERS_PER_UNIT: Final = 64
DEGREE: Final = 9


class Expansions(NamedTuple):
    """Coefficients of f(c + h) = sum of coefficients[n] h**n, a row for every power n.

    Column i is for the center c = i / 64; `last` is the last center, past which f rounds to 1.
    `value_tail` is what coefficients[0] lacks of f(c); the slope coefficients[1] is also given
    as a head of 26 bits and a tail.
    """

    coefficients: Array
    value_tail: Array
    slope_head: Array
    slope_tail: Array
    last: float


@functools.cache
def erf_expansions() -> Expansions:
    """Returns the expansions of erf up to 6."""
    return _expansions([erf_about(i, DEGREE) for i in range(6 * CENTERS_PER_UNIT + 1)])


@functools.cache
def tanh_expansions() -> Expansions:
    """Returns the expansions of tanh up to 20."""
    return _expansions([_tanh_about(i) for i in range(20 * CENTERS_PER_UNIT + 1)])


def _expansions(columns: list[list[int]]) -> Expansions:
    rows = [[entry / (1 << PLACES) for entry in row] for row in zip(*columns, strict=True)]
    tails = [parts(column[0], 53, 53)[1] for column in columns]
    slopes = [parts(column[1], 26, 53) for column in columns]
    heads, rests = zip(*slopes, strict=True)
    last = (len(columns) - 1) / CENTERS_PER_UNIT
    return Expansions(np.array(rows), np.array(tails), np.array(heads), np.array(rests), last)


def erf_about(center: int, degree: int) -> list[int]:
    """Returns the fixed-point coefficients about center / 64, up to a degree.

    The derivative g(h) = 2/sqrt(pi) exp(-(c + h)**2) satisfies g' = -2 (c + h) g, a recurrence
    for its coefficients; those of erf are theirs, integrated.
    """
    point = (center << PLACES) // CENTERS_PER_UNIT
    scaled, power = exponential(shifted(-point * point, 24 - PLACES), PLACES)
    root = math.isqrt((1 << 3 * PLACES + 1) // half_pi(PLACES))
    weight = shifted(scaled * root, power - PLACES)
    slopes = [weight, shifted(-2 * point * weight, -PLACES)]
    for order in range(2, degree):
        falling = shifted(point * slopes[-1], -PLACES) + slopes[-2]
        slopes.append(-2 * falling // order)
    value = shifted(error_integral(point, PLACES) * weight, -PLACES)
    return [value, *(slope // (order + 1) for order, slope in enumerate(slopes))]


def _tanh_about(center: int) -> list[int]:
    """Returns the fixed-point coefficients about center / 64, by t' = 1 - t**2."""
    one = 1 << PLACES
    point = (center << PLACES) // CENTERS_PER_UNIT
    scaled, power = exponential(shifted(-2 * point, 24), PLACES)
    decay = shifted(scaled, power)
    found = [((one - decay) << PLACES) // (one + decay)]
    for order in range(DEGREE):
        square = sum(found[i] * found[order - i] for i in range(order + 1)) >> PLACES
        found.append(((one if order == 0 else 0) - square) // (order + 1))
    return found
