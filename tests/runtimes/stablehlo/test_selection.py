"""Gather and scatter: clamped reads, dropped writes, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.stablehlo.conftest import Run, spelled

F = "tensor<f32>"


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


ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
ROWS += " index_vector_dim = 1"
CELLS = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
ADD = f"%s = stablehlo.add %x, %y : {F}"


def scattered(
    run: Run, numbers: str, line: str, array: Any, indices: Any, updates: Any, element: str = "f32"
) -> Any:
    type, scalar = spelled(array), f"tensor<{element}>"
    body = (
        '%r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers ='
        f" #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false}}>"
        f" ({{\n^bb0(%x: {scalar}, %y: {scalar}):\n{line.replace('f32', element)}\n"
        f"stablehlo.return %s : {scalar} }})"
        f" : ({type}, {spelled(indices)}, {spelled(updates)}) -> {type}"
    )
    return run(body, type, array, indices, updates)


def test_updates_add_up_and_those_outside_are_dropped(run: Run) -> None:
    updates = np.ones((4, 3), np.float32)
    indices = np.array([1, 1, -1, 4], np.int32)
    array = M.copy()
    result = scattered(run, ROWS, ADD, array, indices, updates)
    wanted = M.copy()
    wanted[1] += 2
    assert result.tolist() == wanted.tolist()
    assert array.tolist() == M.tolist()


def test_a_window_that_reaches_out_is_dropped_where_it_does(run: Run) -> None:
    numbers = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    array, updates = np.zeros(4, np.float32), np.array([[1, 2], [3, 4]], np.float32)
    result = scattered(run, numbers, ADD, array, np.array([3, -1], np.int64), updates)
    assert result.tolist() == [4.0, 0.0, 0.0, 1.0]


def test_updates_add_in_their_order(run: Run) -> None:
    tiny = np.float32(2**-24)
    updates = np.array([-1, tiny, tiny], np.float32)
    array, indices = np.array([1.0], np.float32), np.zeros(3, np.int32)
    assert scattered(run, CELLS, ADD, array, indices, updates)[0] == 2 * tiny
    # Each of the two is lost beside the one before that is taken away.
    assert scattered(run, CELLS, ADD, array, indices, updates[::-1])[0] == 0.0


def test_many_updates_of_a_few_places_keep_their_order(run: Run) -> None:
    random = np.random.default_rng(3)
    places = random.integers(0, 5, 500).astype(np.int32)
    updates = random.standard_normal(500).astype(np.float32)
    wanted = np.zeros(5, np.float32)
    for place, update in zip(places, updates, strict=True):
        wanted[place] += update
    result = scattered(run, CELLS, ADD, np.zeros(5, np.float32), places, updates)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("%s = stablehlo.subtract %x, %y : tensor<f32>", [10.0 - 1 - 2, 20.0, 30.0 - 3]),
        ("%s = stablehlo.subtract %y, %x : tensor<f32>", [2 - (1 - 10.0), 20.0, 3 - 30.0]),
        ("%s = stablehlo.maximum %x, %y : tensor<f32>", [10.0, 20.0, 30.0]),
        ("%s = stablehlo.negate %y : tensor<f32>", [-2.0, 20.0, -3.0]),
        ("%s = stablehlo.constant dense<7.0> : tensor<f32>", [7.0, 20.0, 7.0]),
    ],
)
def test_a_scatter_by_any_body(run: Run, line: str, wanted: list[float]) -> None:
    array, updates = np.array([10, 20, 30], np.float32), np.array([1, 2, 3], np.float32)
    result = scattered(run, CELLS, line, array, np.array([0, 0, 2], np.int32), updates)
    assert result.tolist() == wanted


def test_integers_scatter_and_wrap(run: Run) -> None:
    array, updates = np.array([100, 0], np.int8), np.array([100, 1], np.int8)
    result = scattered(run, CELLS, ADD, array, np.array([0, 1], np.int64), updates, "i8")
    assert result.tolist() == [-56, 1]
