"""The older forms: broadcast along new axes, and selection along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled
from topos.errors import UnsupportedError

A = np.arange(24, dtype=np.int16).reshape(2, 3, 4)


def test_a_broadcast_adds_axes_in_front(run: Run) -> None:
    body = "%r = stablehlo.broadcast %a, sizes = [2, 1] : (tensor<3xi8>) -> tensor<2x1x3xi8>"
    result = run(body, "tensor<2x1x3xi8>", np.array([1, 2, 3], np.int8))
    assert result.tolist() == [[[1, 2, 3]]] * 2


INDICES: tuple[Any, ...] = (
    (0, 0, np.array([1, 0, 1], np.int32)),
    (1, 0, np.array([[2, 0], [1, 1]], np.int64)),
    (2, 0, np.array(3, np.int8)),
    (1, 1, np.array([[2, 0, 0, 1], [1, 1, 2, 2]], np.int32)),
    (2, 1, np.array([[3], [0]], np.uint32)),
    (2, 2, np.array([[3, 0, 1], [2, 2, 0]], np.int32)),
    (-2, 0, np.array([[2, 0], [1, 1]], np.int64)),
    (-1, -1, np.array([[3], [0]], np.uint32)),
)


@pytest.mark.parametrize(("axis", "batch", "indices"), INDICES)
def test_an_index_select(run: Run, axis: int, batch: int, indices: Any) -> None:
    stated = f"dim = {axis} : i64, batch_dims = {batch} : i64"
    # Negative ones count from the end.
    axis, batch = axis % A.ndim, batch + indices.ndim if batch < 0 else batch
    shape = (*A.shape[:axis], *indices.shape[batch:], *A.shape[axis + 1 :])
    result = spelled(np.empty(shape, np.int16))
    body = (
        f'%r = "stablehlo.torch_index_select"(%a, %b) {{{stated}}}'
        f" : ({spelled(A)}, {spelled(indices)}) -> {result}"
    )
    wanted = np.empty(shape, np.int16)
    for place in np.ndindex(shape):
        lead = place[:axis]
        picked = place[axis : axis + indices.ndim - batch]
        rest = place[axis + indices.ndim - batch :]
        wanted[place] = A[(*lead, int(indices[(*lead[:batch], *picked)]), *rest)]
    assert run(body, result, A, indices).tolist() == wanted.tolist()


def test_an_index_outside_is_moved_inside(run: Run) -> None:
    body = (
        '%r = "stablehlo.torch_index_select"(%a, %b) {dim = 0 : i64, batch_dims = 0 : i64}'
        " : (tensor<3xi8>, tensor<2xi32>) -> tensor<2xi8>"
    )
    array, indices = np.array([5, 6, 7], np.int8), np.array([-4, 9], np.int32)
    assert run(body, "tensor<2xi8>", array, indices).tolist() == [5, 7]


def test_a_constant_of_arithmetic_that_is_no_dense_one_is_not_supported(run: Run) -> None:
    reason = "arith.constant of something other than dense<...> is not supported"
    with pytest.raises(UnsupportedError, match=reason):
        run('%r = "arith.constant"() {value = "x"} : () -> tensor<f32>', "tensor<f32>")
