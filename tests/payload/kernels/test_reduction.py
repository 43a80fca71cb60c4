"""Sums are the tree of halves; extremes have no order; any body takes the same tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import reduction

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

CASES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((1,), (0,)),
    ((0,), (0,)),
    ((2, 0, 3), (1,)),
    ((2, 0, 3), (0,)),
    ((5,), ()),
    ((67,), (0,)),
    ((6, 7), (0, 1)),
    ((6, 7), (0,)),
    ((6, 7), (1,)),
    ((3, 5, 4), (1,)),
    ((3, 5, 4), (0, 2)),
    ((3, 5, 4), (1, 2)),
    ((3, 5, 4), (0, 1)),
    ((2, 3, 5, 3), (0, 2, 3)),
    ((4, 2, 6), (0, 2)),
    ((3, 12, 2, 2), (1, 3)),
    ((70, 33), (1,)),
    ((33, 70), (0,)),
]


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def terms_of(array: Array, axes: tuple[int, ...]) -> list[list[Any]]:
    """Returns the terms of each element of the result, in order, as scalars."""
    ranges = [range(extent) for extent in array.shape]
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    collected = []
    for place in product(*(ranges[axis] for axis in kept)):
        terms = []
        for step in product(*(ranges[axis] for axis in axes)):
            index = dict(zip(kept, place, strict=True)) | dict(zip(axes, step, strict=True))
            terms.append(array[tuple(index[axis] for axis in range(array.ndim))])
        collected.append(terms)
    return collected


def halved(terms: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    while len(terms) > 1:
        half = math.ceil(len(terms) / 2)
        terms = [
            combine(terms[i], terms[i + half]) if i < len(terms) - half else terms[i]
            for i in range(half)
        ]
    return terms[0]


def summed(terms: list[Any], dtype: np.dtype[Any]) -> Any:
    compute = np.float32 if dtype.itemsize == 2 else dtype.type
    total = compute(0)
    if terms:
        total = total + halved([compute(term) for term in terms], lambda x, y: x + y)
    return np.nan if total != total else total


@pytest.mark.parametrize(("shape", "axes"), CASES)
@pytest.mark.parametrize("tame", [True, False])
def test_sum_is_the_tree_of_halves(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    tame: bool,
    floating: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(floating, shape, 1, tame=tame)
    expected = np.empty(kept_shape(shape, axes), floating)
    with np.errstate(all="ignore"):
        expected.reshape(-1)[:] = [summed(terms, floating) for terms in terms_of(array, axes)]
    for view in layouts(array):
        assert same(reduction.sum(view, axes), expected)


@pytest.mark.parametrize("count", [*range(1, 40), 63, 64, 65, 127, 129, 1000])
def test_tree_of_every_length(count: int, draw: Draw, same: Same) -> None:
    # Many sums at once take the other memory order on the way down.
    array = draw(np.float32, (count, 40), 2, tame=True)
    expected = np.array([summed(list(column), array.dtype) for column in array.T], np.float32)
    assert same(reduction.sum(array, (0,)), expected)
    assert same(reduction.sum(np.ascontiguousarray(array.T), (1,)), expected)
    assert same(reduction.sum(array[:, 0], (0,)), expected[0])


def test_sum_of_broadcast_views(floating: np.dtype[Any], draw: Draw, same: Same) -> None:
    array = np.broadcast_to(draw(floating, (7, 1, 5), 3, tame=True), (7, 9, 5))
    for axes in ((1,), (0, 1), (0, 2), (0, 1, 2)):
        assert same(reduction.sum(array, axes), reduction.sum(array.copy(), axes))


def test_sum_of_negative_zeros_is_positive_zero(floating: np.dtype[Any], same: Same) -> None:
    for count in (0, 1, 5):
        result = reduction.sum(-np.zeros((count, 2), floating), (0,))
        assert same(result, np.zeros(2, floating))


@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_integer_sums_wrap(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    integral: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(integral, shape, 4)
    half = 1 << (8 * integral.itemsize - 1)
    expected = np.empty(kept_shape(shape, axes), integral)
    expected.reshape(-1)[:] = [
        (sum(map(int, terms)) + half) % (2 * half) - half for terms in terms_of(array, axes)
    ]
    for view in layouts(array):
        assert same(reduction.sum(view, axes), expected)


def greatest(terms: list[Any], empty: Any) -> Any:
    chosen = empty
    for term in terms:
        if chosen != chosen or term != term:
            chosen = np.nan
        elif term > chosen or (term == chosen and not np.signbit(float(term))):
            chosen = term
    return chosen


def least(terms: list[Any], empty: Any) -> Any:
    chosen = empty
    for term in terms:
        if chosen != chosen or term != term:
            chosen = np.nan
        elif term < chosen or (term == chosen and np.signbit(float(term))):
            chosen = term
    return chosen


def ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "b":
        return False, True
    if dtype.kind == "i":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return -np.inf, np.inf


@pytest.mark.parametrize(("shape", "axes"), CASES)
@pytest.mark.parametrize("tame", [True, False])
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "bool"]
)
def test_extremes_follow_nan_and_zeros(
    dtype: str,
    tame: bool,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(dtype, shape, 5, tame=tame)
    low, high = ends(array.dtype)
    expected = [np.empty(kept_shape(shape, axes), array.dtype) for _ in range(2)]
    with np.errstate(all="ignore"):
        terms = terms_of(array, axes)
        expected[0].reshape(-1)[:] = [greatest(part, low) for part in terms]
        expected[1].reshape(-1)[:] = [least(part, high) for part in terms]
    for view in layouts(array):
        assert same(reduction.maximum(view, axes), expected[0])
        assert same(reduction.minimum(view, axes), expected[1])


@pytest.mark.parametrize("count", [1, 2, 8, 9, 33, 1000])
def test_extremes_of_zeros(count: int, floating: np.dtype[Any], same: Same) -> None:
    zero = np.zeros((), floating)
    for position in (0, count // 2, count - 1):
        negative = np.full((3, count), -zero)
        negative[1, position] = zero
        expected = np.array([-zero, zero, -zero])
        assert same(reduction.maximum(negative, (1,)), expected)
        assert same(reduction.minimum(-negative, (1,)), -expected)


def affine(left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
    """Composes two maps x -> scale * x + shift: the order of operands shows."""
    (scale, shift), (outer, offset) = left, right
    return [scale * outer, outer * shift + offset]


@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_any_body_takes_the_tree_with_the_start_last(
    shape: tuple[int, ...], axes: tuple[int, ...], draw: Draw, layouts: Layouts, same: Same
) -> None:
    scales, shifts = (draw(np.float32, shape, seed, tame=True) for seed in (6, 7))
    starts = (np.array(3, np.float32), np.array(0.3, np.float32))
    pairs = list(zip(terms_of(scales, axes), terms_of(shifts, axes), strict=True))
    results = []
    for first, second in pairs:
        terms = list(zip(first, second, strict=True))
        tree = [halved(terms, affine)] if terms else []
        results.append(affine(starts, tree[0]) if tree else list(starts))
    kept = kept_shape(shape, axes)
    expected = [
        np.array([result[part] for result in results], np.float32).reshape(kept)
        for part in range(2)
    ]
    for scale, shift in zip(layouts(scales), reversed(layouts(shifts)), strict=True):
        reduced = reduction.reduce_by_halves((scale, shift), starts, axes, affine)
        assert all(same(part, wanted) for part, wanted in zip(reduced, expected, strict=True))


def test_adding_by_halves_is_the_sum(draw: Draw, same: Same) -> None:
    array = draw(np.float64, (5, 27), 8, tame=True)
    zero = (np.zeros(()),)
    (result,) = reduction.reduce_by_halves((array,), zero, (1,), lambda x, y: (x[0] + y[0],))
    assert same(result, reduction.sum(array, (1,)))
