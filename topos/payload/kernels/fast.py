"""Kernels of Fast plans: numpy's own order of operations, a library's product, no canonical NaN.

Each fills `out`, a C-contiguous array of the result's shape and dtype, and returns it. Operands
are arrays of float32 or float64 unless a kernel says otherwise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.shape import without

__all__ = [
    "concatenate",
    "convert",
    "fold",
    "gather",
    "log_softmax",
    "log_sum_exp",
    "logistic",
    "maximum_along",
    "pad",
    "rsqrt",
    "select",
    "step",
    "sum_along",
]

# Sums of fewer numbers than this, side by side, are faster as a product with ones.
_NARROW: Final = 96
# Sums of at least so many terms that lie in a row are too.
_LONG: Final = 4


def rsqrt(array: Array, *, out: Array) -> Array:
    """Returns the reciprocal of the square root; -inf at -0."""
    np.sqrt(array, out=out)
    return np.reciprocal(out, out=out)


def logistic(array: Array, *, out: Array) -> Array:
    """Returns `1 / (1 + exp(-x))`; an exponential that overflows gives zero."""
    np.negative(array, out=out)
    np.exp(out, out=out)
    np.add(out, out.dtype.type(1), out=out)
    return np.reciprocal(out, out=out)


def step(left: Array, threshold: Array, *, out: Array) -> Array:
    """Returns 1 where `left >= threshold`, else 0, in the operands' own dtype."""
    np.copyto(out, np.greater_equal(left, threshold))
    return out


def select(mask: Array, on_true: Array, on_false: Array, *, out: Array) -> Array:
    """Returns the bits of `on_true` where `mask` holds, else those of `on_false`, any dtype.

    The bits are chosen by masks of ones and zeros, whose time does not depend on the truth values;
    `numpy.where` branches at each.
    """
    bits = f"i{out.itemsize}"
    first, second, target = on_true.view(bits), on_false.view(bits), out.view(bits)
    # Minus one is all ones in any width, once its sign is extended.
    chosen = np.asarray(np.negative(mask.view(np.int8)))
    if second.ndim == 0 and not second:
        np.copyto(target, chosen)
        np.bitwise_and(target, first, out=target)
        return out
    if first.ndim == 0 and not first:
        np.copyto(target, np.invert(chosen, out=chosen))
        np.bitwise_and(target, second, out=target)
        return out
    differing = np.bitwise_xor(first, second)
    np.copyto(target, chosen)
    np.bitwise_and(target, differing, out=target)
    np.bitwise_xor(target, second, out=target)
    return out


def convert(array: Array, *, out: Array) -> Array:
    """Returns `array` in the dtype of `out`, rounded once."""
    np.copyto(out, array, casting="same_kind")
    return out


def sum_along(array: Array, axes: tuple[int, ...], *, out: Array) -> Array:
    """Returns the sums over `axes`, ascending, in any order of addition."""
    rank, count = array.ndim, len(axes)
    if 0 < count < rank and array.size and array.flags.c_contiguous:
        terms = math.prod(array.shape[:count] if axes[0] == 0 else array.shape[rank - count :])
        others = array.size // terms
        if axes[-1] == count - 1 and others < _NARROW <= terms:
            np.matmul(_ones(terms, array.dtype), array.reshape(terms, others), out=out.reshape(-1))
            return out
        if axes[0] == rank - count and terms >= _LONG and others > 1:
            np.matmul(array.reshape(others, terms), _ones(terms, array.dtype), out=out.reshape(-1))
            return out
    np.add.reduce(array, axis=axes, out=out)
    return out


def maximum_along(array: Array, axes: tuple[int, ...], *, out: Array) -> Array:
    """Returns the maxima over `axes`; a NaN wins, and either zero may."""
    np.maximum.reduce(array, axis=axes, out=out)
    return out


def log_softmax(array: Array, axis: int, *, out: Array) -> Array:
    """Returns `(x - m) - ln(sum(exp(x - m)))` along `axis`, m its maximum, 0 if infinite."""
    np.subtract(array, _finite_peak(array, axis), out=out)
    exponentials = np.exp(out)
    totals = np.empty((*array.shape[:axis], 1, *array.shape[axis + 1 :]), array.dtype)
    sum_along(exponentials, (axis,), out=totals.reshape(without(array.shape, (axis,))))
    np.log(totals, out=totals)
    np.subtract(out, totals, out=out)
    return out


def log_sum_exp(array: Array, axis: int, *, out: Array) -> Array:
    """Returns `m + ln(sum(exp(x - m)))` over `axis`, m its maximum, 0 if infinite."""
    peak = _finite_peak(array, axis)
    shifted = np.subtract(array, peak)
    np.exp(shifted, out=shifted)
    sum_along(shifted, (axis,), out=out)
    np.log(out, out=out)
    return np.add(out, peak.reshape(out.shape), out=out)


def pad(array: Array, low: tuple[int, ...], *, out: Array) -> Array:
    """Returns zeros around `array`, which begins at `low`; any dtype."""
    out.fill(0)
    box = zip(low, array.shape, strict=True)
    out[tuple(slice(start, start + extent) for start, extent in box)] = array
    return out


def concatenate(*arrays: Array, axis: int, out: Array) -> Array:
    """Returns `arrays`, of one dtype, joined along `axis`."""
    return np.concatenate(arrays, axis, out=out)


def fold(array: Array, axis: int, step: int, *, out: Array) -> Array:
    """Returns the windows of `array` added up along `axis` of `out`; any numeric dtype."""
    windows, size = array.shape[axis], array.shape[-1]
    out.fill(0)
    span = step * (windows - 1) + 1 if windows else 0
    before = (slice(None),) * axis
    for j in range(size):
        target = out[(*before, slice(j, j + span, step))]
        np.add(target, array[..., j], out=target)
    return out


def gather(array: Array, indices: Array, axis: int, *, out: Array) -> Array:
    """Returns the slices of `array`, any dtype, at the clamped `indices` along `axis`."""
    return np.take(array, indices, axis=axis, out=out, mode="clip")


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
