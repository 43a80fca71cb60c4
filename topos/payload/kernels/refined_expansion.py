"""The refined expansion: an enclosure of erf to about 2**-100, by its Taylor polynomials."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.maps_wide import Enclosure, Ends, ends, scaled_ends
from topos.payload.kernels.pairs import Pair, pair_sum, pair_times
from topos.payload.kernels.tables_expansion import CENTERS_PER_UNIT
from topos.payload.kernels.tables_refined import REFINED_DEGREE, erf_pairs

__all__ = ["refined_erf", "refined_expansion", "small_erf"]

# From this power on the coefficients need no tail.
_PLAIN: Final = 8
_LAST: Final = 6.0


def refined_erf(values: Array) -> Ends:
    """Encloses erf x for |x| >= 2**-900."""
    low, high = ends(*refined_expansion(np.abs(values)))
    return np.copysign(low, values), np.copysign(high, values)


def refined_expansion(magnitude: Array) -> Enclosure:
    """Encloses erf x, x >= 0, by f(c + h) = a0 + h (a1 + h (a2 + ...)) about the nearest center.

    |h| <= 2**-7, and h <= f(x) where the center is 0, else |h| <= f(x) too. From a8 h**8 on
    float64 does: 4 u of it is 2**-107 f(x), what is cut off 2**-112 f(x). The products and sums
    of pairs lose 6.1 u*u of a1 h each turn, a sum that is below 2**-101.5 f(x), the last sum 3.1
    u*u and the table 2**-106 of f(x).
    """
    coefficients = erf_pairs()
    bounded = np.minimum(magnitude, _LAST)
    nearest = np.rint(bounded * CENTERS_PER_UNIT)
    step = bounded - nearest * (1.0 / CENTERS_PER_UNIT)
    column = nearest.astype(np.intp)
    plain = coefficients[REFINED_DEGREE][0].take(column)
    for power in range(REFINED_DEGREE - 1, _PLAIN - 1, -1):
        plain = plain * step + coefficients[power][0].take(column)
    total: Pair = plain, np.zeros_like(plain)
    for power in range(_PLAIN - 1, -1, -1):
        head, tail = coefficients[power]
        total = pair_sum((head.take(column), tail.take(column)), pair_times(total, step))
    return Enclosure(*total, np.abs(total[0]) * 2.0**-100)


def small_erf(values: Array) -> Ends:
    """Encloses erf x for |x| <= 2**-60 by x 2/sqrt(pi); what is cut off is x*x/3 of it.

    The product is formed at the scale of x 2**300, where it is exact, and rounded once.
    """
    head, tail = erf_pairs()[1]
    zoomed = np.minimum(np.abs(values), 2.0**-60) * 2.0**300
    slope = np.full_like(zoomed, head[0]), np.full_like(zoomed, tail[0])
    product, rest = pair_times(slope, zoomed)
    power = np.full(zoomed.shape, -300)
    low, high = scaled_ends(Enclosure(product, rest, product * 2.0**-101), power)
    return np.copysign(low, values), np.copysign(high, values)
