"""Cholesky's factors and triangular systems, multiplied out again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.runtimes.interpreter.run import compiled

Array = npt.NDArray[Any]
Run = Callable[..., Array]

RNG = np.random.default_rng(5)
ELEMENTS = {"f32": np.float32, "f64": np.float64, "complex<f64>": np.complex128}
BOUNDS = {"f32": 1e-5, "f64": 1e-13, "complex<f64>": 1e-13}


def matrices(element: str, *shape: int) -> Array:
    numbers = RNG.standard_normal(shape)
    if element.startswith("complex"):
        numbers = numbers + 1j * RNG.standard_normal(shape)
    return np.asarray(numbers.astype(ELEMENTS[element]))


def turned(array: Array) -> Array:
    return np.conjugate(np.swapaxes(array, -1, -2))


def definite(element: str, *shape: int) -> Array:
    matrix = matrices(element, *shape)
    return np.asarray(matrix @ turned(matrix) + np.eye(shape[-1]), matrix.dtype)


def spelled(array: Array, element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{element}>"


def factor(run: Run, matrix: Array, element: str, lower: bool) -> Array:
    type = spelled(matrix, element)
    return run(f"%r = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type}", type, matrix)


@pytest.mark.parametrize("element", ELEMENTS)
def test_factors_multiply_to_the_matrix(run: Run, element: str) -> None:
    matrix = definite(element, 2, 3, 4, 4)
    low = factor(run, matrix, element, True)
    np.testing.assert_allclose(low @ turned(low), matrix, rtol=0, atol=40 * BOUNDS[element])
    assert not np.triu(low, 1).any()
    high = factor(run, matrix, element, False)
    np.testing.assert_allclose(turned(high) @ high, matrix, rtol=0, atol=40 * BOUNDS[element])
    assert not np.tril(high, -1).any()


def test_only_one_triangle_is_read(run: Run) -> None:
    matrix = np.array([[4.0, np.nan], [2.0, 5.0]])
    np.testing.assert_array_equal(factor(run, matrix, "f64", True), [[2.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(factor(run, matrix.T, "f64", False), [[2.0, 1.0], [0.0, 2.0]])


@pytest.mark.parametrize("exact", [True, False])
def test_matrices_that_are_not_definite_are_nan_alone(exact: bool) -> None:
    stack = np.stack([np.eye(2), -np.eye(2), np.zeros((2, 2)), 4 * np.eye(2)])
    type = "tensor<4x2x2xf64>"
    text = (
        f"func.func @main(%a: {type}) -> {type} {{\n"
        f"%r = stablehlo.cholesky %a, lower = true : {type}\nreturn %r : {type}\n}}"
    )
    (got,) = compiled(text, exact)(stack)
    np.testing.assert_array_equal(got[0], np.eye(2))
    assert np.isnan(got[1:3]).all()
    np.testing.assert_array_equal(got[3], 2 * np.eye(2))


def test_narrow_factors_are_rounded_once(run: Run) -> None:
    matrix = np.array([[3.0, 0.0], [1.0, 2.0]], np.float32)
    root = np.sqrt(3.0)
    rest = np.sqrt(2.0 - (1.0 / root) * (1.0 / root))
    wanted = np.array([[root, 0.0], [1.0 / root, rest]]).astype(np.float32)
    assert factor(run, matrix, "f32", True).tobytes() == wanted.tobytes()


def solution(element: str, matrix: Array, sides: Array, exact: bool, **options: str) -> Array:
    a, b = spelled(matrix, element), spelled(sides, element)
    written = ", ".join(f"{key} = {value}" for key, value in options.items())
    text = (
        f"func.func @main(%a: {a}, %b: {b}) -> {b} {{\n"
        f'%r = "stablehlo.triangular_solve"(%a, %b) {{{written}}} : ({a}, {b}) -> {b}\n'
        f"return %r : {b}\n}}"
    )
    (result,) = compiled(text, exact)(matrix, sides)
    return result


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("left", ["true", "false"])
def test_solutions_multiply_to_the_sides(element: str, left: str) -> None:
    for lower, unit, transpose in product(
        ("true", "false"), ("true", "false"), ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
    ):
        matrix = matrices(element, 2, 3, 3) + 3 * np.eye(3, dtype=ELEMENTS[element])
        sides = matrices(element, *((2, 3, 2) if left == "true" else (2, 2, 3)))
        got = solution(
            element,
            matrix,
            sides,
            True,
            left_side=left,
            lower=lower,
            unit_diagonal=unit,
            transpose_a=f"#stablehlo<transpose {transpose}>",
        )
        full = np.tril(matrix) if lower == "true" else np.triu(matrix)
        if unit == "true":
            full = full * (1 - np.eye(3)) + np.eye(3)
        if transpose != "NO_TRANSPOSE":
            full = turned(full) if transpose == "ADJOINT" else np.swapaxes(full, -1, -2)
        product_of = full @ got if left == "true" else got @ full
        np.testing.assert_allclose(product_of, sides, rtol=0, atol=300 * BOUNDS[element])


def test_blocks_solve_what_rows_solve() -> None:
    matrix = np.tril(matrices("f64", 80, 80)) / 20 + 2 * np.eye(80)
    sides = matrices("f64", 80, 3)
    options = {
        "left_side": "true",
        "lower": "true",
        "unit_diagonal": "false",
        "transpose_a": "#stablehlo<transpose TRANSPOSE>",
    }
    rows = solution("f64", matrix, sides, True, **options)
    blocks = solution("f64", matrix, sides, False, **options)
    np.testing.assert_allclose(matrix.T @ rows, sides, atol=1e-12)
    np.testing.assert_allclose(blocks, rows, rtol=1e-10, atol=1e-12)


def test_a_zero_on_the_diagonal_divides() -> None:
    options = {
        "left_side": "true",
        "lower": "true",
        "unit_diagonal": "false",
        "transpose_a": "#stablehlo<transpose NO_TRANSPOSE>",
    }
    matrix = np.array([[2.0, 9.0], [1.0, 0.0]])
    got = solution("f64", matrix, np.array([[2.0], [3.0]]), True, **options)
    np.testing.assert_array_equal(got, [[1.0], [np.inf]])
