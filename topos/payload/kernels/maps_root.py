"""The wide reciprocal root: a double-double enclosure of rsqrt."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import two_product
from topos.payload.kernels.maps_wide import Ends, ends

__all__ = ["bracket_rsqrt"]


def bracket_rsqrt(values: Array) -> Ends:
    """Encloses 1 / sqrt(x) by one Newton step from y = 1 / sqrt(x), itself within 3 u.

    With d = 1 - x y*y, exact but for u d, the result is y (1 + d/2) within d*d.
    """
    zoom = np.where(values < 2.0**-400, 2.0**600, np.where(values > 2.0**400, 2.0**-600, 1.0))
    inside = values * zoom
    estimate = 1.0 / np.sqrt(inside)
    square, lost = two_product(estimate, estimate)
    product, rest = two_product(inside, square)
    defect = (1.0 - product) - (rest + inside * lost)
    low, high = ends(estimate, estimate * (0.5 * defect), estimate * 2.0**-98)
    root = np.sqrt(zoom)
    low, high = low * root, high * root
    edge = (values == 0.0) | (values == np.inf)
    if edge.any():
        low[edge] = high[edge] = 1.0 / np.sqrt(values[edge])
    return low, high
