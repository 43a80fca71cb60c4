"""Distances between results: bits, and units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FAR = 1 << 63
"""The distance between a NaN and a number, and between results of different types."""


def same_bits(left: Array, right: Array) -> bool:
    """Returns whether two arrays agree in shape, dtype and every bit."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return bool(np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes())


def largest_distance(left: Array, right: Array, *, flushed: bool = False) -> int:
    """Returns the largest number of steps between corresponding elements.

    A step leads from one value of the dtype to the next; -0 and +0 are the same place, two NaNs
    too, and a NaN is `FAR` from every number. With `flushed`, subnormals count as zero.
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        return FAR
    if left.size == 0:
        return 0
    if left.dtype.kind in "iub":
        gaps = np.abs(left.astype(object) - right.astype(object))
        return int(gaps.max())
    places = _places(left, flushed).astype(object) - _places(right, flushed).astype(object)
    gaps = np.abs(places)
    one, both = np.isnan(left) ^ np.isnan(right), np.isnan(left) & np.isnan(right)
    gaps[both], gaps[one] = 0, FAR
    return int(gaps.max())


def relative_difference(left: Array, right: Array) -> float:
    """Returns the largest difference divided by the largest magnitude of `left`.

    Infinity where the types differ, or where one is finite and the other is not.
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        return float("inf")
    if left.size == 0:
        return 0.0
    ours, theirs = left.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(ours)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if not (same | (finite & np.isfinite(theirs))).all():
        return float("inf")
    scale = np.abs(ours[finite]).max(initial=0.0)
    gap = np.abs(np.where(same, 0.0, np.where(finite, ours, 0.0) - np.where(finite, theirs, 0.0)))
    return float(gap.max() / scale) if scale else float(gap.max() and np.inf)


def _places(array: Array, flushed: bool) -> Array:
    """Returns each element's position in the order of the dtype's values, zero at zero."""
    integer = np.dtype(f"i{array.dtype.itemsize}")
    bits = np.array(array, order="C").view(integer).astype(np.int64)
    magnitude = bits & np.int64(np.iinfo(integer).max)
    if flushed:
        tiny = np.array(_smallest_normal(array.dtype)).view(integer).astype(np.int64)
        # The smallest normal number is then one step from zero.
        magnitude = np.maximum(magnitude - (tiny - 1), 0)
    return np.atleast_1d(np.where(bits < 0, -magnitude, magnitude))


def _smallest_normal(dtype: np.dtype[Any]) -> Any:
    # bfloat16 has the exponent range of float32.
    if dtype.name == "bfloat16":
        return dtype.type(np.finfo(np.float32).smallest_normal)
    return np.finfo(dtype).smallest_normal
