"""Wide expansions: double-double enclosures of tanh and erf by their Taylor polynomials."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, halves
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends, identity_where, patch
from topos.payload.kernels.refined_expansion import small_erf
from topos.payload.kernels.tables_expansion import (
    CENTERS_PER_UNIT,
    DEGREE,
    Expansions,
    erf_expansions,
    tanh_expansions,
)

__all__ = ["bracket_erf", "bracket_tanh", "expanded"]


def bracket_tanh(values: Array) -> Ends:
    """Encloses tanh by its expansions; a number below 2**-28 is its own tanh."""
    low, high = _odd(values, tanh_expansions())
    tiny = np.abs(values) < 2.0**-28
    return identity_where(tiny, values, low, high) if tiny.any() else (low, high)


def bracket_erf(values: Array) -> Ends:
    """Encloses erf by its expansions; below 2**-900 in magnitude it may be subnormal."""
    low, high = _odd(values, erf_expansions())
    tiny = np.abs(values) < 2.0**-900
    if tiny.any():
        patch((low, high), tiny, small_erf(values[tiny]))
    return low, high


def _odd(values: Array, expansions: Expansions) -> Ends:
    low, high = ends(*expanded(values, expansions))
    return np.copysign(low, values), np.copysign(high, values)


def expanded(values: Array, expansions: Expansions) -> Enclosure:
    """Encloses f(|x|) by f(c + h) = a0 + a1 h + a2 h**2 + ... about the nearest center.

    |h| <= 2**-7, and a1 h is exact in its leading part, 26 bits by 26. For both maps |a2| <=
    f(c) <= 2 f(x) and |a3 h| <= 0.4 f(x), so that all terms from a2 on are below 2.4 h*h f(x);
    they and the sums of the tail lose 6.5 u of that, under 2**-49 h*h f(x). What is cut off and
    what the tables lack stays under 2**-69 f(x).
    """
    coefficients = expansions.coefficients
    magnitude = np.minimum(np.abs(values), expansions.last)
    nearest = np.rint(magnitude * CENTERS_PER_UNIT)
    step = magnitude - nearest * (1.0 / CENTERS_PER_UNIT)
    # A NaN has no center: `clip` gives it some column, and its step stays NaN.
    column = nearest.astype(np.intp)
    total = coefficients[DEGREE].take(column, mode="clip")
    for power in range(DEGREE - 1, 1, -1):
        total *= step
        total += coefficients[power].take(column, mode="clip")
    square = step * step
    total *= square
    front, back = halves(step)
    slope = expansions.slope_head.take(column, mode="clip")
    total += slope * back + expansions.slope_tail.take(column, mode="clip") * step
    total += expansions.value_tail.take(column, mode="clip")
    head, lost = fast_two_sum(coefficients[0].take(column, mode="clip"), slope * front)
    return Enclosure(head, total + lost, head * (square * 2.0**-49 + 2.0**-68))
