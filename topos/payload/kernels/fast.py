"""Kernels of Fast plans: numpy's own order of operations, a library's product, no canonical NaN.

Each fills and returns `out` where that is given, a row-major array of the result's type. Operands
are arrays of float32 or float64 unless a kernel says otherwise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.shape import without

# Sums of fewer numbers than this, side by side, are faster as a product with ones.
_NARROW: Final = 96
# Sums of at least so many terms that lie in a row are too.
_LONG: Final = 4


def rsqrt(array: Array, *, out: Array | None = None) -> Array:
    """Returns the reciprocal of the square root; -inf at -0."""
    root = np.sqrt(array, out=np.empty_like(array) if out is None else out)
    return np.reciprocal(root, out=root)


def logistic(array: Array, *, out: Array | None = None) -> Array:
    """Returns `1 / (1 + exp(-x))`; an exponential that overflows gives zero."""
    growth = np.negative(array, out=np.empty_like(array) if out is None else out)
    np.exp(growth, out=growth)
    np.add(growth, growth.dtype.type(1), out=growth)
    return np.reciprocal(growth, out=growth)


def step(left: Array, threshold: Array, *, out: Array | None = None) -> Array:
    """Returns 1 where `left >= threshold`, else 0, in the operands' own dtype."""
    holds = np.greater_equal(left, threshold)
    result = np.empty(holds.shape, left.dtype) if out is None else out
    np.copyto(result, holds)
    return result


def convert(array: Array, dtype: np.dtype[Any], *, out: Array | None = None) -> Array:
    """Returns `array` in `dtype`, rounded once."""
    result = np.empty(array.shape, dtype) if out is None else out
    np.copyto(result, array, casting="same_kind")
    return result


def sum_along(array: Array, axes: tuple[int, ...], *, out: Array | None = None) -> Array:
    """Returns the sums over `axes`, ascending, in any order of addition."""
    rank, count = array.ndim, len(axes)
    result = np.empty(without(array.shape, axes), array.dtype) if out is None else out
    if 0 < count < rank and array.size and array.flags.c_contiguous:
        terms = math.prod(array.shape[:count] if axes[0] == 0 else array.shape[rank - count :])
        others = array.size // terms
        if axes[-1] == count - 1 and others < _NARROW <= terms:
            ones, sums = _ones(terms, array.dtype), result.reshape(-1)
            np.matmul(ones, array.reshape(terms, others), out=sums)
            return result
        if axes[0] == rank - count and terms >= _LONG and others > 1:
            ones, sums = _ones(terms, array.dtype), result.reshape(-1)
            np.matmul(array.reshape(others, terms), ones, out=sums)
            return result
    np.add.reduce(array, axis=axes, out=result)
    return result


def maximum_along(array: Array, axes: tuple[int, ...], *, out: Array | None = None) -> Array:
    """Returns the maxima over `axes`; a NaN wins, and either zero may."""
    result = np.empty(without(array.shape, axes), array.dtype) if out is None else out
    np.maximum.reduce(array, axis=axes, out=result)
    return result


def log_softmax(array: Array, axis: int, *, out: Array | None = None) -> Array:
    """Returns `(x - m) - ln(sum(exp(x - m)))` along `axis`, m its maximum, 0 if infinite."""
    shifted = np.subtract(array, _finite_peak(array, axis), out=out)
    exponentials = np.exp(shifted)
    totals = np.empty((*array.shape[:axis], 1, *array.shape[axis + 1 :]), array.dtype)
    sum_along(exponentials, (axis,), out=totals.reshape(without(array.shape, (axis,))))
    np.log(totals, out=totals)
    np.subtract(shifted, totals, out=shifted)
    return shifted


def log_sum_exp(array: Array, axis: int, *, out: Array | None = None) -> Array:
    """Returns `m + ln(sum(exp(x - m)))` over `axis`, m its maximum, 0 if infinite."""
    peak = _finite_peak(array, axis)
    shifted = np.subtract(array, peak)
    np.exp(shifted, out=shifted)
    result = sum_along(shifted, (axis,), out=out)
    np.log(result, out=result)
    return np.add(result, peak.reshape(result.shape), out=result)


def fold(array: Array, axis: int, step: int, extent: int, *, out: Array | None = None) -> Array:
    """Returns the windows of `array` added up along an axis of `extent`; any numeric dtype."""
    windows, size, shape = array.shape[axis], array.shape[-1], [*array.shape[:-1]]
    shape[axis] = extent
    result = np.empty(shape, array.dtype) if out is None else out
    result.fill(0)
    span = step * (windows - 1) + 1 if windows else 0
    before = (slice(None),) * axis
    for j in range(size):
        target = result[(*before, slice(j, j + span, step))]
        np.add(target, array[..., j], out=target)
    return result


def _finite_peak(array: Array, axis: int) -> Array:
    peak = np.maximum.reduce(array, axis=axis, keepdims=True)
    infinite = np.isinf(peak)
    if infinite.any():
        peak[infinite] = 0
    return np.asarray(peak)


@lru_cache(maxsize=64)
def _ones(count: int, dtype: np.dtype[Any]) -> Array:
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones
