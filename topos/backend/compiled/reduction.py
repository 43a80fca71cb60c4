"""Sums of rows by the tree of halves, one row at a time in a buffer that stays in the cache."""

from __future__ import annotations

import numba
import numpy as np

from topos.backend.compiled import OPTIONS
from topos.op import Array


@numba.njit(**OPTIONS)
def sum_rows(array: Array) -> Array:
    """Returns the sums of the rows of a contiguous `[rows, terms]`, one term or more."""
    rows, terms = array.shape
    sums = np.empty(rows, array.dtype)
    half = (terms + 1) // 2
    buffer = np.empty(half, array.dtype)
    zero = array.dtype.type(0)
    for row in range(rows):
        count = terms - half
        for place in range(count):
            buffer[place] = array[row, place] + array[row, half + place]
        if count < half:
            buffer[count] = array[row, count]
        remaining = half
        while remaining > 1:
            middle = (remaining + 1) // 2
            for place in range(remaining - middle):
                buffer[place] = buffer[place] + buffer[middle + place]
            remaining = middle
        sums[row] = zero + buffer[0]
    return sums
