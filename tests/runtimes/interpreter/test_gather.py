"""Gather: windows read where indices point, moved inside where they reach out."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import float8_e5m2

from tests.runtimes.interpreter.conftest import Run, spelled
from tests.runtimes.interpreter.window_samples import samples


def gathered(
    run: Run, numbers: str, sizes: str, array: Any, indices: Any, shape: tuple[int, ...]
) -> Any:
    result = spelled(np.empty(shape, array.dtype))
    body = (
        f'%r = "stablehlo.gather"(%a, %b) <{{dimension_numbers = #stablehlo.gather<{numbers}>,'
        f" indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}>"
        f" : ({spelled(array)}, {spelled(indices)}) -> {result}"
    )
    return run(body, result, array, indices)


M = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_rows_are_taken_and_their_indices_clamped(run: Run) -> None:
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
    numbers += " index_vector_dim = 1"
    for dtype in (np.int32, np.int64, np.int8):
        indices = np.array([2, -7, 99], dtype)
        result = gathered(run, numbers, "1, 3", M, indices, (3, 3))
        assert result.tolist() == M[[2, 0, 3]].tolist()
    top = np.array([2**64 - 1], np.uint64)
    assert gathered(run, numbers, "1, 3", M, top, (1, 3)).tolist() == M[[3]].tolist()


def test_columns_are_taken_with_the_offset_in_front(run: Run) -> None:
    numbers = "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1],"
    numbers += " index_vector_dim = 2"
    indices = np.array([[2, 0], [1, 1]], np.int32)
    result = gathered(run, numbers, "4, 1", M, indices, (4, 2, 2))
    assert result.tolist() == M[:, [[2, 0], [1, 1]]].tolist()


def test_windows_are_moved_inside(run: Run) -> None:
    numbers = "offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1"
    indices = np.array([[0, 0], [3, 2], [-1, 1]], np.int64)
    result = gathered(run, numbers, "2, 2", M, indices, (3, 2, 2))
    assert result.tolist() == [M[:2, :2].tolist(), M[2:, 1:].tolist(), M[:2, 1:].tolist()]
    short = gathered(run, numbers, "2, 2", M.astype(float8_e5m2), indices, (3, 2, 2))
    assert short.astype(np.float32).tolist() == result.astype(float8_e5m2).tolist()


def test_the_index_vector_may_lie_first_and_name_axes_in_any_order(run: Run) -> None:
    numbers = "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0"
    indices = np.array([[2, 0], [1, 3]], np.int32)
    assert gathered(run, numbers, "1, 1", M, indices, (2,)).tolist() == [M[1, 2], M[3, 0]]


def test_batches_run_along_both(run: Run) -> None:
    numbers = "collapsed_slice_dims = [1], operand_batching_dims = [0],"
    numbers += " start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1"
    indices = np.array([2, 0, 1, 2], np.int32)
    result = gathered(run, numbers, "1, 1", M, indices, (4,))
    assert result.tolist() == [M[0, 2], M[1, 0], M[2, 1], M[3, 2]]


def test_batches_are_counted_without_the_index_vector(run: Run) -> None:
    numbers = "collapsed_slice_dims = [1], operand_batching_dims = [0],"
    numbers += " start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 0"
    indices = np.array([[2, 0, 1, 2]], np.int32)
    result = gathered(run, numbers, "1, 1", M, indices, (4,))
    assert result.tolist() == [M[0, 2], M[1, 0], M[2, 1], M[3, 2]]


def test_rows_may_be_cut_short(run: Run) -> None:
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
    numbers += " index_vector_dim = 1"
    indices = np.array([[3], [1], [1]], np.uint8)
    result = gathered(run, numbers, "1, 2", M, indices, (3, 2))
    assert result.tolist() == M[[3, 1, 1], :2].tolist()


def test_an_empty_window_reads_nothing(run: Run) -> None:
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
    numbers += " index_vector_dim = 1"
    indices = np.array([[3], [1]], np.int32)
    assert gathered(run, numbers, "1, 0", M, indices, (2, 0)).shape == (2, 0)
    assert gathered(run, numbers, "1, 3", M, indices[:0], (0, 3)).shape == (0, 3)


def test_every_element_is_the_one_that_is_specified(run: Run) -> None:
    for sample, random in samples(seed=7, count=60):
        array = random.standard_normal(sample.shape).astype(np.float32)
        indices = random.integers(-1, 6, sample.indices).astype(np.int32)
        numbers = (
            f"offset_dims = {sample.offsets}, collapsed_slice_dims = {sample.collapsed},"
            f" operand_batching_dims = {sample.batching},"
            f" start_indices_batching_dims = {sample.along},"
            f" start_index_map = {sample.components}, index_vector_dim = {sample.vector}"
        )
        sizes = ", ".join(map(str, sample.sizes))
        result = gathered(run, numbers, sizes, array, indices, tuple(sample.outer))
        for place in np.ndindex(*sample.outer):
            assert result[place] == array[sample.element(indices, place, clamped=True)], sample
