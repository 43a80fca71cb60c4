"""Windows are the elements they name; folding adds them in window order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import window

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

# Shape, axis, size of a window, step.
CASES = [
    ((5,), 0, 5, 1),
    ((9,), 0, 3, 1),
    ((9,), 0, 3, 2),
    ((9,), 0, 2, 3),
    ((9,), 0, 1, 4),
    ((4, 10), 1, 4, 3),
    ((10, 4), 0, 3, 3),
    ((2, 8, 3), 1, 5, 1),
    ((2, 0, 8, 3), 2, 3, 2),
]


def windows_of(extent: int, size: int, step: int) -> int:
    return len(range(0, extent - size + 1, step))


@pytest.mark.parametrize(("shape", "axis", "size", "step"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "bool"])
def test_unfold_names_the_elements(
    dtype: str,
    shape: tuple[int, ...],
    axis: int,
    size: int,
    step: int,
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    array = draw(dtype, shape, 1)
    count = windows_of(shape[axis], size, step)
    expected = np.empty((*shape[:axis], count, *shape[axis + 1 :], size), array.dtype)
    for index in np.ndindex(*expected.shape):
        position = step * index[axis] + index[-1]
        expected[index] = array[(*index[:axis], position, *index[axis + 1 : -1])]
    for view in layouts(array):
        assert same(window.unfold(view, axis, size, step), expected)


def test_windows_are_a_read_only_view() -> None:
    array = np.arange(6)
    windows = window.unfold(array, 0, 3, 1)
    assert np.shares_memory(windows, array)
    assert not windows.flags.writeable


@pytest.mark.parametrize(("shape", "axis", "size", "step"), CASES)
@pytest.mark.parametrize("tame", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32"])
def test_fold_adds_in_window_order(
    dtype: str,
    tame: bool,
    shape: tuple[int, ...],
    axis: int,
    size: int,
    step: int,
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    count = windows_of(shape[axis], size, step)
    array = draw(dtype, (*shape[:axis], count, *shape[axis + 1 :], size), 2, tame=tame)
    compute = np.float32 if array.dtype.itemsize == 2 else array.dtype
    totals = np.zeros(shape, compute)
    kept = array.shape[:-1]
    with np.errstate(all="ignore"):
        for j in range(size):
            for index in np.ndindex(*kept):
                target = (*index[:axis], j + step * index[axis], *index[axis + 1 :])
                totals[target] = totals[target] + array[(*index, j)].astype(compute)
        totals[totals != totals] = np.nan if totals.dtype.kind == "f" else 0
        expected = totals.astype(array.dtype)
    for view in layouts(array):
        assert same(window.fold(view, axis, step, shape[axis]), expected)


def test_fold_of_no_windows_is_zero(floating: np.dtype[Any], same: Same) -> None:
    result = window.fold(np.empty((0, 3), floating), 0, 1, 4)
    assert same(result, np.zeros(4, floating))


def test_fold_leaves_positive_zero_beyond_the_windows(floating: np.dtype[Any], same: Same) -> None:
    result = window.fold(-np.zeros((2, 2), floating), 0, 2, 6)
    assert same(result, np.zeros(6, floating))


def test_unfold_of_a_broadcast_view(same: Same) -> None:
    array = np.broadcast_to(np.arange(5.0)[:, None], (5, 7))
    for axis in (0, 1):
        expected = window.unfold(array.copy(), axis, 3, 2)
        assert same(window.unfold(array, axis, 3, 2), expected)
