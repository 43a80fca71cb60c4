"""Reductions along axes: the fixed tree of halves, and the two that have no order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array, is_float
from topos.payload.kernels.conversion import promoted, rounded
from topos.payload.shape import without

Combine = Callable[[tuple[Array, ...], tuple[Array, ...]], Sequence[Array]]

# A tree this low over more sums is faster with the sums, not the terms, along the vector axis.
_FEW_TERMS: Final = 32


@np.errstate(all="ignore")
def sum(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns the sums along `axes`, which the result lacks, by the tree of halves.

    The reduced axes, ascending, flatten to one of n terms. While n > 1, with h = ceil(n / 2),
    term i + h is added to term i and the first h remain; the last one is added to +0
    (rule 7 of the oracle). An empty sum is +0. The 16-bit floats accumulate in float32 and round
    once. Integers wrap.
    """
    array = np.asarray(array)
    if not is_float(array.dtype):
        # Addition modulo a power of two has no order.
        return np.asarray(np.add.reduce(array, axis=axes, dtype=array.dtype))
    terms = _terms_first(_evenly_halved(promoted(array), axes), axes)
    total = np.zeros(terms.shape[1:], terms.dtype)
    if len(terms):
        np.add(total, _halved(terms), total)
    return rounded(total, array.dtype).reshape(without(array.shape, axes))


def maximum(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns the maxima along `axes`, which the result lacks.

    A maximum over a NaN is NaN, and -0 lies below +0, so there is no order. Over no elements it
    is the least value: minus infinity, the least integer, or false.
    """
    return _extreme(np.asarray(array), axes, np.maximum, np.logical_and, greatest=False)


def minimum(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns the minima along `axes`, which the result lacks.

    A minimum over a NaN is NaN, and -0 lies below +0, so there is no order. Over no elements it
    is the greatest value: infinity, the greatest integer, or true.
    """
    return _extreme(np.asarray(array), axes, np.minimum, np.logical_or, greatest=True)


def reduce_by_halves(
    arrays: Sequence[Array], starts: Sequence[Array], axes: tuple[int, ...], combine: Combine
) -> tuple[Array, ...]:
    """Returns `arrays`, all of one shape, reduced together along `axes` by any `combine`.

    `combine` takes a tuple of left and a tuple of right operands, one for each array, and
    combines them elementwise; it sees the halves of the tree of `sum`, the leading half on the
    left. Each of `starts` is a rank-0 array, combined once at the end, on the left of the tree's
    result; over no elements it is the result.
    """
    kept = without(arrays[0].shape, axes)
    terms = tuple(_terms_first(np.asarray(array), axes) for array in arrays)
    totals = tuple(np.broadcast_to(start, kept) for start in starts)
    count = len(terms[0])
    if count == 0:
        return totals
    while count > 1:
        half = (count + 1) // 2
        combined = combine(
            tuple(term[: count - half] for term in terms), tuple(term[half:] for term in terms)
        )
        if count < 2 * half:
            carried = (term[count - half : half] for term in terms)
            combined = [np.concatenate(pair) for pair in zip(combined, carried, strict=True)]
        terms, count = tuple(combined), half
    results = combine(totals, tuple(term.reshape(kept) for term in terms))
    return tuple(np.asarray(result) for result in results)


def _terms_first(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns `array` as [terms, outer, inner], a view where its strides allow."""
    shape, first = array.shape, min(axes, default=0)
    end = first + len(axes)
    if axes != tuple(range(first, end)):
        kept = tuple(axis for axis in range(array.ndim) if axis not in axes)
        array = array.transpose(*kept, *axes)
        shape, first, end = array.shape, len(kept), array.ndim
    outer, terms, inner = (
        math.prod(part) for part in (shape[:first], shape[first:end], shape[end:])
    )
    return array.reshape(outer, terms, inner).transpose(1, 0, 2)


def _evenly_halved(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns `array` less the levels of the tree that halve the first of several axes.

    While that extent is even, a half of the flattened terms is a half of the axis, and needs no
    flattening, which may be a copy of everything.
    """
    if len(axes) < 2:
        return array
    terms = array.swapaxes(0, axes[0])
    while len(terms) and len(terms) % 2 == 0:
        half = len(terms) // 2
        terms = terms[:half] + terms[half:]
    return terms.swapaxes(0, axes[0])


def _halved(terms: Array) -> Array:
    """Returns [outer, inner] of at least one term of [terms, outer, inner], which stay as is."""
    few = _FEW_TERMS if terms[:1].size > _FEW_TERMS else 0
    count = len(terms)
    sums = np.ascontiguousarray(terms) if count <= few else terms
    half = (count + 1) // 2
    if half < count:
        terms, sums = sums, np.empty_like(sums[:half])
        sums[count - half :] = terms[count - half : half]
        np.add(terms[: count - half], terms[half:], sums[: count - half])
    # From here in place: a term that is carried already lies where it belongs.
    while half > 1:
        count, half = half, (half + 1) // 2
        if count <= few:
            sums, few = np.ascontiguousarray(sums[:count]), 0
        np.add(sums[: count - half], sums[half:count], sums[: count - half])
    result: Array = sums[0]
    return result


@np.errstate(all="ignore")
def _extreme(
    array: Array,
    axes: tuple[int, ...],
    choose: np.ufunc,
    signs: np.ufunc,
    *,
    greatest: bool,
) -> Array:
    elements = promoted(array)
    start = _end(elements.dtype, greatest)
    result = np.asarray(choose.reduce(elements, axis=axes, initial=start))
    if not is_float(array.dtype):
        return result
    zero = result == 0
    if np.count_nonzero(zero):
        # Which of two unlike zeros numpy returns depends on the length and the processor. A
        # maximum of zero is -0 where all signs are set, a minimum where any is.
        negative = signs.reduce(np.signbit(elements), axis=axes)
        np.copyto(result, np.where(negative, -0.0, 0.0), where=zero, casting="same_kind")
    return rounded(result, array.dtype)


def _end(dtype: np.dtype[Any], greatest: bool) -> Any:
    if dtype.kind == "f":
        return np.inf if greatest else -np.inf
    if dtype.kind == "b":
        return greatest
    limits = np.iinfo(dtype)
    return limits.max if greatest else limits.min
