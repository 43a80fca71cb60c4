"""The rules of fft, cholesky and triangular_solve."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

FFT = """
func.func @f(%a: tensor<3x8x9xcomplex<f32>>) {
  %r = stablehlo.fft %a, type = FFT, length = [8, 9]
    : (tensor<3x8x9xcomplex<f32>>) -> tensor<3x8x9xcomplex<f32>>
  return
}"""
RFFT = """
func.func @f(%a: tensor<3x8x9xf64>) {
  %r = stablehlo.fft %a, type = RFFT, length = [8, 9]
    : (tensor<3x8x9xf64>) -> tensor<3x8x5xcomplex<f64>>
  return
}"""
IRFFT = """
func.func @f(%a: tensor<3x8x5xcomplex<f64>>) {
  %r = stablehlo.fft %a, type = IRFFT, length = [8, 9]
    : (tensor<3x8x5xcomplex<f64>>) -> tensor<3x8x9xf64>
  return
}"""
CHOLESKY = """
func.func @f(%a: tensor<2x4x4xf32>) {
  %r = stablehlo.cholesky %a, lower = true : tensor<2x4x4xf32>
  return
}"""
SOLVE = """
func.func @f(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{
    left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose ADJOINT>
  }> : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}"""
BROKEN_FFT = [
    *broken(
        FFT,
        ("complex<f32>", "f32", "takes no elements of f32 as operand"),
        ("length = [8, 9]", "length = []", "needs 1 to 3 numbers as fft_length, got 0"),
        ("length = [8, 9]", "length = [3, 8, 9, 1]", "needs 1 to 3 numbers as fft_length, got 4"),
        ("3x8x9x", "9x", "needs an operand of rank 2 or more, got tensor<9xcomplex<f32>>"),
        ("-> tensor<3x8x9x", "-> tensor<3x8x5x", "results in tensor<3x8x9xcomplex<f32>>, got "),
    ),
    *broken(
        RFFT,
        ("tensor<3x8x9xf64>", "tensor<3x8x9xbf16>", "takes no elements of bf16 as operand"),
        ("length = [8, 9]", "length = [8, 7]", "needs an operand whose last axes are [8, 7], got"),
        ("length = [8, 9]", "length = [7, 9]", "needs an operand whose last axes are [7, 9], got"),
        ("3x8x5x", "3x8x9x", "results in tensor<3x8x5xcomplex<f64>>, got "),
    ),
    *broken(
        IRFFT,
        ("length = [8, 9]", "length = [8, 10]", "needs an operand whose last axes are [8, 6], go"),
        ("length = [8, 9]", "length = [8, 8]", "results in tensor<3x8x8xf64>, got "),
        ("length = [8, 9]", "length = [7, 9]", "needs an operand whose last axes are [7, 5], got"),
        ("-> tensor<3x8x9xf64>", "-> tensor<3x8x9xf32>", "results in tensor<3x8x9xf64>, got "),
    ),
]
BROKEN_CHOLESKY = broken(
    CHOLESKY,
    ("4x4xf32", "4x5xf32", "needs square matrices in the last two axes, got tensor<2x4x5xf32>"),
    ("2x4x4xf32", "4xf32", "needs square matrices in the last two axes, got tensor<4xf32>"),
    ("4x4xf32", "4x4xi32", "takes no elements of i32 as operand"),
)
BROKEN_SOLVE = broken(
    SOLVE,
    ("4x4xf32", "4x5xf32", "needs square matrices in the last two axes, got tensor<2x4x5xf32>"),
    ("2x4x3xf32", "2x5x3xf32", "needs a and b that share an axis, got "),
    ("2x4x3xf32", "3x4x3xf32", "needs a and b of the same batches, got "),
    ("2x4x3xf32", "4x3xf32", "needs a and b of one rank, got "),
    ("2x4x3xf32", "2x4x3xf64", "needs a and b of one element, got "),
    ("left_side = true", "left_side = false", "needs a and b that share an axis, got "),
    ("left_side = true, ", "", "needs the attribute left_side"),
    ("ADJOINT", "TRANSPOSE_INVALID", "needs one of NO_TRANSPOSE, TRANSPOSE, ADJOINT as transpose"),
    ("-> tensor<2x4x3xf32>", "-> tensor<2x4x4xf32>", "results in tensor<2x4x3xf32>, got "),
)


@pytest.mark.parametrize("text", [FFT, RFFT, IRFFT, CHOLESKY, SOLVE])
def test_a_transform_is_accepted_with_known_and_dynamic_extents(text: str) -> None:
    accept(text)
    assert mlir_accepts(text)
    # The bounds of one batch axis say nothing of the others.
    accept(text.replace("tensor<2x", "tensor<?x").replace("tensor<3x", "tensor<?x"))


def test_an_empty_spectrum_makes_no_numbers() -> None:
    text = IRFFT.replace("length = [8, 9]", "length = [8, 0]").replace("3x8x9xf64", "3x8x0xf64")
    for bins in (0, 1):
        accept(text.replace("3x8x5xcomplex", f"3x8x{bins}xcomplex"))
    case = Broken(text, "needs an operand whose last axes are [8, 0], got ")
    demand_refused(case, "stablehlo.fft")
    assert not mlir_accepts(text)


@pytest.mark.parametrize("case", BROKEN_FFT, ids=lambda case: case.reason)
def test_a_broken_transform_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.fft")
    assert not mlir_accepts(case.text)


@pytest.mark.parametrize("case", BROKEN_CHOLESKY, ids=lambda case: case.reason)
def test_a_broken_factorization_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.cholesky")
    assert not mlir_accepts(case.text)


@pytest.mark.parametrize("case", BROKEN_SOLVE, ids=lambda case: case.reason)
def test_a_broken_solution_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.triangular_solve")
    assert not mlir_accepts(case.text)
