"""Contraction: the order of the sum, batches, and elements of either side."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tests.runtimes.stablehlo.conftest import Run
from topos.payload.kernels.product import matmul


def test_a_product_has_the_bits_of_the_oracle(run: Run) -> None:
    random = np.random.default_rng(1)
    left = random.standard_normal((5, 40)).astype(np.float32)
    right = random.standard_normal((40, 3)).astype(np.float32)
    body = (
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0],"
        " precision = [HIGHEST, HIGHEST] : (tensor<5x40xf32>, tensor<40x3xf32>) -> tensor<5x3xf32>"
    )
    result = run(body, "tensor<5x3xf32>", left, right)
    assert result.tobytes() == matmul(left, right).tobytes()
    total = np.float32(0)
    for k in range(40):
        total = np.float32(total + np.float32(left[2, k] * right[k, 1]))
    assert result[2, 1].tobytes() == total.tobytes()


def test_batches_lead_and_contracted_axes_may_stand_anywhere(run: Run) -> None:
    left = np.arange(24, dtype=np.int32).reshape(3, 2, 4)
    right = np.arange(30, dtype=np.int32).reshape(2, 5, 3)
    body = (
        "%r = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [0] x [2]"
        " : (tensor<3x2x4xi32>, tensor<2x5x3xi32>) -> tensor<2x4x5xi32>"
    )
    result = run(body, "tensor<2x4x5xi32>", left, right)
    assert result.tolist() == np.einsum("kbm,bnk->bmn", left, right).tolist()


def test_two_contracted_axes_go_in_the_order_written(run: Run) -> None:
    right = np.ones((2, 2), np.float32)
    left = np.array([[1, 2**-24], [2**-24, -1]], np.float32)
    body = (
        "%r = stablehlo.dot_general %a, %b, contracting_dims = {} x {}"
        " : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<f32>"
    )
    rows = run(body.format("[0, 1]", "[0, 1]"), "tensor<f32>", left, right)
    left = np.array([[1, -1], [2**-24, 2**-24]], np.float32)
    columns = run(body.format("[1, 0]", "[1, 0]"), "tensor<f32>", left, right)
    assert float(rows) == 0.0
    assert float(columns) == 2**-24
    other = run(body.format("[0, 1]", "[0, 1]"), "tensor<f32>", left, right)
    assert float(other) == 2**-23


def test_narrow_floats_accumulate_wide(run: Run) -> None:
    left = np.array([[256, 1, 1, 1]], ml_dtypes.bfloat16)
    right = np.ones((4, 1), ml_dtypes.bfloat16)
    types = "(tensor<1x4xbf16>, tensor<4x1xbf16>)"
    body = f"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : {types} -> "
    narrow = run(body + "tensor<1x1xbf16>", "tensor<1x1xbf16>", left, right)
    assert float(narrow[0, 0]) == 260.0
    assert run(body + "tensor<1x1xf32>", "tensor<1x1xf32>", left, right).tolist() == [[259.0]]


def test_integers_widen_before_they_wrap(run: Run) -> None:
    left = np.array([[100, 100]], np.int8)
    body = (
        "%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1]"
        " : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x1x{}>"
    )
    assert run(body.format("i32"), "tensor<1x1xi32>", left).tolist() == [[20000]]
    assert run(body.format("i8"), "tensor<1x1xi8>", left).tolist() == [[32]]


def test_an_empty_contraction_is_zero(run: Run) -> None:
    body = (
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
        " : (tensor<2x0xf32>, tensor<0x1xf32>) -> tensor<2x1xf32>"
    )
    left, right = np.zeros((2, 0), np.float32), np.zeros((0, 1), np.float32)
    assert run(body, "tensor<2x1xf32>", left, right).tolist() == [[0.0], [0.0]]


def test_the_older_dot(run: Run) -> None:
    body = "%r = stablehlo.dot %a, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    left, right = np.array([[1, 2], [3, 4]], np.float32), np.array([5, 6], np.float32)
    assert run(body, "tensor<2xf32>", left, right).tolist() == [17.0, 39.0]
