"""Gather keeps bits; scatter adds its updates in row-major order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import selection

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

# Shape of the array, shape of the indices, axis.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (), 0),
    ((5,), (7,), 0),
    ((1,), (4,), 0),
    ((5,), (0,), 0),
    ((4, 3), (2, 5), 0),
    ((4, 3), (9,), 1),
    ((2, 4, 3), (3, 2), 1),
    ((2, 4, 0), (3,), 1),
    ((0, 4, 2), (), 1),
    ((3, 2), (200,), 0),
    ((3, 70), (200,), 0),
    ((300,), (500,), 0),
]
INDICES = ["int64", "int32", "int8", "uint8", "uint64"]


def drawn_indices(dtype: str, shape: tuple[int, ...], extent: int) -> Array:
    """Returns indices of which some lie beyond either end."""
    limits = np.iinfo(dtype)
    generator = np.random.default_rng(extent)
    low, high = max(-3, int(limits.min)), min(extent + 3, int(limits.max))
    indices = generator.integers(low, high, shape).astype(dtype)
    ends = generator.choice(np.array([limits.min, limits.max], dtype), shape)
    chosen: Array = np.where(generator.integers(0, 9, shape) == 0, ends, indices)
    return chosen.astype(dtype)


def clamped(index: Any, extent: int) -> int:
    return max(0, min(extent - 1, int(index)))


@pytest.mark.parametrize(("shape", "places", "axis"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize("index_dtype", INDICES)
def test_gather_names_the_elements(
    index_dtype: str,
    dtype: str,
    shape: tuple[int, ...],
    places: tuple[int, ...],
    axis: int,
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(dtype, shape, 1)
    indices = drawn_indices(index_dtype, places, shape[axis])
    expected = np.empty((*shape[:axis], *places, *shape[axis + 1 :]), array.dtype)
    for index in np.ndindex(*expected.shape):
        before, after = index[:axis], index[axis + len(places) :]
        position = clamped(indices[index[axis : axis + len(places)]], shape[axis])
        expected[index] = array[(*before, position, *after)]
    for view, where in zip(layouts(array), reversed(layouts(indices)), strict=True):
        assert same(selection.gather(view, where, axis), expected)


@pytest.mark.parametrize(("shape", "places", "axis"), CASES)
@pytest.mark.parametrize("tame", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32"])
def test_scatter_adds_in_row_major_order(
    dtype: str,
    tame: bool,
    shape: tuple[int, ...],
    places: tuple[int, ...],
    axis: int,
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    extent = shape[axis]
    indices = drawn_indices("int64", places, extent)
    updates = draw(dtype, (*shape[:axis], *places, *shape[axis + 1 :]), 2, tame=tame)
    compute = np.float32 if updates.dtype.itemsize == 2 else updates.dtype
    totals = np.zeros(shape, compute)
    with np.errstate(all="ignore"):
        wide = updates.astype(compute)
        for index in np.ndindex(*updates.shape):
            position = clamped(indices[index[axis : axis + len(places)]], extent)
            target = (*index[:axis], position, *index[axis + len(places) :])
            totals[target] = totals[target] + wide[index]
        if totals.dtype.kind == "f":
            totals[totals != totals] = np.nan
        expected = totals.astype(updates.dtype)
    for view, where in zip(layouts(updates), reversed(layouts(indices)), strict=True):
        assert same(selection.scatter(view, where, axis, extent), expected)


@pytest.mark.parametrize(("extent", "count"), [(3, 1000), (500, 1000), (70_000, 300), (1, 200)])
@pytest.mark.parametrize("width", [1, 5, 65])
def test_scatter_of_rows_adds_in_order(
    extent: int, count: int, width: int, draw: Draw, same: Same
) -> None:
    # Squares crowd the low places: some are updated often, some once, some never.
    spread = np.random.default_rng(5).random(count) ** 3
    indices = (spread * extent).astype(np.int64)
    updates = draw(np.float32, (count, width), 3, tame=True)
    expected = np.zeros((extent, width), np.float32)
    for place, row in zip(indices, updates, strict=True):
        expected[place] = expected[place] + row
    assert same(selection.scatter(updates, indices, 0, extent), expected)


def test_places_that_share_their_low_bits_stay_apart(same: Same) -> None:
    indices = np.array([5, 5 + (1 << 16)] * 30)
    expected = np.zeros(1 << 17, np.float32)
    expected[5], expected[5 + (1 << 16)] = 30, 60
    updates = np.array([1, 2] * 30, np.float32)
    assert same(selection.scatter(updates, indices, 0, 1 << 17), expected)


def test_scatter_of_broadcast_updates(floating: np.dtype[Any], draw: Draw, same: Same) -> None:
    updates = np.broadcast_to(draw(floating, (1, 6), 4, tame=True), (90, 6))
    indices = np.arange(90) % 2
    expected = selection.scatter(updates.copy(), indices, 0, 3)
    assert same(selection.scatter(updates, indices, 0, 3), expected)


def test_scatter_of_negative_zeros_is_positive_zero(floating: np.dtype[Any], same: Same) -> None:
    for count in (1, 3, 100):
        result = selection.scatter(-np.zeros(count, floating), np.zeros(count, np.int64), 0, 2)
        assert same(result, np.zeros(2, floating))
        wide = -np.zeros((count, 100), floating)
        result = selection.scatter(wide, np.zeros(count, np.int64), 0, 2)
        assert same(result, np.zeros((2, 100), floating))


def test_a_float16_sum_is_rounded_once(same: Same) -> None:
    # Each addition of one to 2048 would be lost in float16.
    updates = np.array([2048, *[1] * 64], np.float16)
    result = selection.scatter(updates, np.zeros(65, np.int32), 0, 1)
    assert same(result, np.array([math.fsum(updates.tolist())], np.float16))
