"""Comparisons of numbers to truth values, and selection by them.

Operands have one dtype and shapes that broadcast. -0 equals +0.
"""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import promoted

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "select",
]


@np.errstate(all="ignore")
def equal(left: Array, right: Array) -> Array:
    """Returns `left == right`; NaN equals nothing, itself included."""
    return np.asarray(np.equal(promoted(left), promoted(right)))


@np.errstate(all="ignore")
def not_equal(left: Array, right: Array) -> Array:
    """Returns `left != right`; true where either is NaN."""
    return np.asarray(np.not_equal(promoted(left), promoted(right)))


@np.errstate(all="ignore")
def less(left: Array, right: Array) -> Array:
    """Returns `left < right`; false where either is NaN."""
    return np.asarray(np.less(promoted(left), promoted(right)))


@np.errstate(all="ignore")
def less_equal(left: Array, right: Array) -> Array:
    """Returns `left <= right`; false where either is NaN."""
    return np.asarray(np.less_equal(promoted(left), promoted(right)))


@np.errstate(all="ignore")
def greater(left: Array, right: Array) -> Array:
    """Returns `left > right`; false where either is NaN."""
    return np.asarray(np.greater(promoted(left), promoted(right)))


@np.errstate(all="ignore")
def greater_equal(left: Array, right: Array) -> Array:
    """Returns `left >= right`; false where either is NaN."""
    return np.asarray(np.greater_equal(promoted(left), promoted(right)))


def select(mask: Array, on_true: Array, on_false: Array) -> Array:
    """Returns the bits of `on_true` where `mask` holds, else those of `on_false`."""
    return np.where(mask, on_true, on_false)
