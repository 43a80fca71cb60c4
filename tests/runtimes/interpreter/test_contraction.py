"""Contraction: the order of the sum, batches, and elements of either side."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.payload.kernels.product import matmul
from topos.runtimes import Executable
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.types import ELEMENTS

Array = npt.NDArray[Any]


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


def product(element: str, result: str, exact: bool) -> Executable:
    """Returns the product of a 7x9 and a 9x5 matrix."""
    types = f"(tensor<7x9x{element}>, tensor<9x5x{element}>) -> tensor<7x5x{result}>"
    return compiled(
        f"func.func @main(%a: tensor<7x9x{element}>, %b: tensor<9x5x{element}>)"
        f" -> tensor<7x5x{result}> {{\n"
        f"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : {types}\n"
        f"return %r : tensor<7x5x{result}> }}",
        exact,
    )


def numbers(seed: int, dtype: Any) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    left, right = random.standard_normal((7, 9)), random.standard_normal((9, 5))
    return left.astype(np.float32).astype(dtype), right.astype(np.float32).astype(dtype)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "bf16", "f16"])
def test_short_floats_sum_in_float32_and_round_once(element: str) -> None:
    dtype = ELEMENTS[element]
    left, right = numbers(2, dtype)
    wide = matmul(left.astype(np.float32), right.astype(np.float32))
    (narrow,) = product(element, element, True)(left, right)
    assert narrow.tobytes() == wide.astype(dtype).tobytes()
    (kept,) = product(element, "f32", True)(left, right)
    assert kept.tobytes() == wide.tobytes()


def test_a_complex_product_adds_its_parts_in_turn() -> None:
    random = np.random.default_rng(3)
    left = random.standard_normal((7, 9, 2)).astype(np.float32).view(np.complex64)[..., 0]
    right = random.standard_normal((9, 5, 2)).astype(np.float32).view(np.complex64)[..., 0]
    (result,) = product("complex<f32>", "complex<f32>", True)(left, right)
    for row, column in np.ndindex(7, 5):
        real, imaginary = np.float32(0), np.float32(0)
        for a, b in zip(left[row], right[:, column], strict=True):
            real = real + a.real * b.real - a.imag * b.imag
            imaginary = imaginary + a.real * b.imag + a.imag * b.real
        assert result[row, column].tobytes() == np.array([real, imaginary]).tobytes()
    (close,) = product("complex<f32>", "complex<f32>", False)(left, right)
    np.testing.assert_allclose(close, left @ right, rtol=1e-5)
    (parts,) = product("complex<f32>", "f32", True)(left, right)
    assert parts.tobytes() == result.real.tobytes()


@pytest.mark.parametrize("element", ["f32", "f64", "bf16"])
def test_a_fast_product_is_as_close(element: str) -> None:
    left, right = numbers(4, ELEMENTS[element])
    (exact,) = product(element, element, True)(left, right)
    (fast,) = product(element, element, False)(left, right)
    rounding = {"f32": 2e-6, "f64": 1e-14, "bf16": 2e-2}[element]
    np.testing.assert_allclose(
        fast.astype(np.float64), exact.astype(np.float64), rtol=rounding, atol=rounding
    )


@pytest.mark.parametrize(
    ("element", "result"),
    [("i8", "i32"), ("ui8", "ui8"), ("i16", "i16"), ("i32", "i32"), ("ui64", "ui64"), ("i4", "i4")],
)
def test_integers_wrap_as_the_result(element: str, result: str) -> None:
    source, target = ELEMENTS[element], ELEMENTS[result]
    bits = int(element.strip("ui"))
    signed = element[0] == "i"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    random = np.random.default_rng(5)
    wide = np.uint64 if bits == 64 else np.int64
    left, right = (
        random.integers(low, high, shape, wide).astype(source) for shape in ((7, 9), (9, 5))
    )
    (got,) = product(element, result, True)(left, right)
    whole = left.astype(object) @ right.astype(object)
    modulus = 2 ** int(result.strip("ui"))
    assert got.dtype == target
    assert np.array_equal(got.astype(object) % modulus, whole % modulus)


def test_truth_values_are_multiplied_by_and_and_added_by_or() -> None:
    random = np.random.default_rng(6)
    left, right = random.integers(0, 4, (7, 9)) == 0, random.integers(0, 4, (9, 5)) == 0
    (got,) = product("i1", "i1", True)(left, right)
    assert np.array_equal(got, (left[:, :, None] & right).any(1))


def test_a_nan_of_a_product_is_the_canonical_one() -> None:
    left, right = np.ones((7, 9), np.float32), np.zeros((9, 5), np.float32)
    left[0, 0] = np.inf
    (got,) = product("f32", "f32", True)(left, right)
    assert got[0, 0].tobytes() == bytes.fromhex("0000c07f")
    assert not np.isnan(got[1:]).any()
