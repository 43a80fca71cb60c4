"""Conversions between formats, each rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from topos.payload.kernels.canonical import Array, canonical, is_float


def promoted(array: Array) -> Array:
    """Returns `array` in the format it computes in: float32 for shorter floats, else its own."""
    array = np.asarray(array)
    short = array.dtype.itemsize < 4 and is_float(array.dtype)
    return array.astype(np.float32) if short else array


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """Returns a computed `array` rounded to `dtype`, with canonical NaNs.

    `array` is taken over: where it already has `dtype` it is the result, changed in place.
    """
    # A NaN that is canonical in float32 stays canonical in either 16-bit format.
    return canonical(np.asarray(array)).astype(dtype, copy=False)


@np.errstate(all="ignore")
def convert(array: Array, dtype: Any) -> Array:
    """Returns the elements of `array` as `dtype`.

    A float or an integer becomes a float by one rounding to nearest, ties to even, out of range
    to infinity; NaN becomes canonical. A float becomes an integer by truncation toward zero,
    saturated at the ends, NaN as 0. An integer becomes a narrower one modulo its range.
    A truth value is whether the number differs from zero (NaN does), and becomes 0 or 1. Elements
    that have the dtype already keep every bit.
    """
    array, target = np.asarray(array), np.dtype(dtype)
    if array.dtype == target:
        return array.copy()
    if target == np.bool_:
        return np.asarray(promoted(array) != 0)
    if is_float(target):
        return _to_float(array, target)
    if is_float(array.dtype):
        return _truncated(promoted(array).astype(np.float64), target)
    return array.astype(target)


def _to_float(array: Array, target: np.dtype[Any]) -> Array:
    value = promoted(array)
    if target.itemsize < 4 and value.dtype != np.float32:
        value = _odd(value)
    return canonical(value.astype(target))


def _odd(array: Array) -> Array:
    """Returns float64 or integer elements as float32, rounded to odd.

    Where the value is not a float32 it is truncated and its last bit set. Rounding that again
    to a format at least two bits narrower is the same as rounding once (Boldo and Melquiond,
    Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008).
    """
    exact = _sticky(array) if array.dtype == np.int64 else array.astype(np.float64)
    nearest = np.asarray(exact.astype(np.float32))
    back = nearest.astype(np.float64)
    # The bits of a float order like its magnitude, so one less is one step toward zero.
    truncated = nearest.view(np.int32) - (np.abs(back) > np.abs(exact))
    return np.asarray((truncated | (back != exact)).view(np.float32))


def _sticky(array: Array) -> Array:
    """Returns int64 elements as float64 exactly, or on the same side of every shorter number.

    Beyond 2**53 the low 16 bits only say whether any of them was set: one bit in their place
    keeps an element strictly between the same neighbours of 38 bits, and fits in 53.
    """
    low = array & 0xFFFF
    marked = (array - low) | ((low != 0).astype(np.int64) << 15)
    return np.where(np.abs(array) < 2**53, array, marked).astype(np.float64)


def _truncated(array: Array, target: np.dtype[Any]) -> Array:
    limits = np.iinfo(target)
    # Both ends are powers of two, so float64 holds them exactly; the upper one is exclusive.
    below, above = array < float(limits.min), array >= 2.0 ** int(limits.max).bit_length()
    inside = ~(below | above | np.isnan(array))
    result = np.where(inside, array, 0).astype(target)
    result[below], result[above] = limits.min, limits.max
    return result
