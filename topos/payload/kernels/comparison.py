"""Comparisons of numbers to truth values, and selection by them.

Operands have one dtype and shapes that broadcast. -0 equals +0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import promoted

# So many elements take two calls of numpy less time than the five that need no branch.
_FEW: Final = 1024


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


def select(mask: Array, on_true: Array, on_false: Array, out: Array | None = None) -> Array:
    """Returns the bits of `on_true` where `mask` holds, else those of `on_false`.

    In a row-major `out` the bits of many are chosen by masks of ones and zeros, whose time does not
    depend on the truth values; `numpy.where` and a copy under a mask branch at each.
    """
    if out is None:
        return np.where(mask, on_true, on_false)
    if out.size <= _FEW or out.itemsize > 8 or out.dtype.names is not None:
        np.copyto(out, on_false)
        np.copyto(out, on_true, where=mask)
        return out
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
