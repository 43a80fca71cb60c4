"""CHLO's broadcasts, constants, words, neighbours and greatest elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled
from tests.runtimes.interpreter.high_precision import Array, applied, differing
from topos.errors import UnsupportedError
from topos.runtimes.interpreter import run_text

X = np.array([[6, -4, 3], [1, 0, -9]], np.int32)
Y = np.array([2, 3, 1], np.int32)
INTEGERS: tuple[Any, ...] = (
    ("add", X + Y),
    ("and", X & Y),
    ("divide", np.array([[3, -1, 3], [0, 0, -9]])),
    ("maximum", np.maximum(X, Y)),
    ("minimum", np.minimum(X, Y)),
    ("multiply", X * Y),
    ("or", X | Y),
    ("power", X**Y),
    ("remainder", np.array([[0, -1, 0], [1, 0, 0]])),
    ("shift_left", X << Y),
    ("shift_right_arithmetic", X >> Y),
    ("shift_right_logical", (X.view(np.uint32) >> Y.view(np.uint32)).view(np.int32)),
    ("subtract", X - Y),
    ("xor", X ^ Y),
)


@pytest.mark.parametrize(("name", "wanted"), INTEGERS)
def test_a_broadcast_of_integers(run: Run, name: str, wanted: Array) -> None:
    body = (
        f"%r = chlo.broadcast_{name} %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>"
    )
    assert run(body, "tensor<2x3xi32>", X, Y).tolist() == wanted.tolist()


def test_a_broadcast_of_elements_that_the_operation_does_not_take_is_refused(run: Run) -> None:
    body = "%r = chlo.broadcast_shift_left %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    with pytest.raises(UnsupportedError, match="broadcast_shift_left of elements of f32"):
        run(body, "tensor<2xf32>", np.ones(2, np.float32), np.ones(2, np.float32))


U = np.array([[1.5, 3.0], [2.25, 4.0]])
V = np.array([[2.0], [3.0]])
FLOATS: tuple[Any, ...] = (
    ("atan2", np.arctan2(U, V)),
    ("next_after", np.nextafter(U, V)),
    ("polygamma", None),
    ("zeta", None),
)


@pytest.mark.parametrize(("name", "wanted"), FLOATS)
def test_a_broadcast_of_floats(run: Run, name: str, wanted: Array | None) -> None:
    types = "(tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>"
    result = run(f"%r = chlo.broadcast_{name} %a, %b : {types}", "tensor<2x2xf64>", U, V)
    if wanted is None:
        wanted = applied(f"chlo.{name}", U, np.broadcast_to(V, U.shape).copy())
    assert np.allclose(result, wanted, rtol=1e-15, atol=0, equal_nan=True)


PLACED: tuple[Any, ...] = (
    ("%a, %b {broadcast_dimensions = array<i64: 0>}", (2, 3), (2,), [[0, 1, 2], [13, 14, 15]]),
    ("%b, %a {broadcast_dimensions = array<i64: 0>}", (2, 3), (2,), [[0, 1, 2], [13, 14, 15]]),
    ("%a, %b {broadcast_dimensions = array<i64: 1>}", (2, 3), (1,), [[0, 1, 2], [3, 4, 5]]),
    ("%a, %b {broadcast_dimensions = array<i64>}", (2, 3), (), [[0, 1, 2], [3, 4, 5]]),
    ("%a, %b", (2, 1), (2,), [[0, 10], [1, 11]]),
)


@pytest.mark.parametrize(("line", "left", "right", "wanted"), PLACED)
def test_the_shorter_operand_is_placed(
    run: Run, line: str, left: Any, right: Any, wanted: Any
) -> None:
    first = np.arange(np.prod(left), dtype=np.int32).reshape(left)
    second = (10 * np.arange(np.prod(right), dtype=np.int32)).reshape(right)
    order = (first, second) if line.startswith("%a") else (second, first)
    target = spelled(np.array(wanted, np.int32))
    types = f"({', '.join(map(spelled, order))}) -> {target}"
    result = run(f"%r = chlo.broadcast_add {line} : {types}", target, first, second)
    assert result.tolist() == wanted


def test_a_broadcast_comparison_selection_and_complex() -> None:
    text = """func.func @main(%a: tensor<2xf32>, %b: tensor<3x1xf32>)
        -> (tensor<3x2xi1>, tensor<3x2xf32>, tensor<3x2xcomplex<f32>>) {
      %0 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>}
        : (tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xi1>
      %1 = chlo.broadcast_select %0, %a, %b
        : (tensor<3x2xi1>, tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
      %2 = chlo.broadcast_complex %a, %b
        : (tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xcomplex<f32>>
      return %0, %1, %2 : tensor<3x2xi1>, tensor<3x2xf32>, tensor<3x2xcomplex<f32>>
    }"""
    left, right = np.array([1, 5], np.float32), np.array([[0], [2], [9]], np.float32)
    below, least, joined = run_text(text, [left, right])
    assert below.tolist() == [[False, False], [True, False], [True, True]]
    assert least.tolist() == [[0, 0], [1, 2], [1, 5]]
    assert np.array_equal(joined, left + 1j * right)


LIKE: tuple[Any, ...] = (
    ("3.5 : f32", "f32", 3.5),
    ("-7 : i32", "i32", -7),
    ("255 : i8", "i8", -1),
    ("true", "i1", True),
    ("0x7F800000 : f32", "f32", np.inf),
    ("2.5", "f64", 2.5),
)


@pytest.mark.parametrize(("value", "element", "wanted"), LIKE)
def test_a_constant_like_an_operand(run: Run, value: str, element: str, wanted: Any) -> None:
    result = f"tensor<2x2x{element}>"
    line = f'%r = "chlo.constant_like"(%a) {{value = {value}}} : (tensor<2x2xi8>) -> {result}'
    assert run(line, result, np.zeros((2, 2), np.int8)).tolist() == [[wanted] * 2] * 2


def test_a_constant(run: Run) -> None:
    line = "%r = chlo.constant dense<[1, 2]> : tensor<2xi16>"
    assert run(line, "tensor<2xi16>").tolist() == [1, 2]


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("sign", ["", "u"])
def test_mulhi_is_the_upper_word(run: Run, name: str, sign: str) -> None:
    dtype = np.dtype(sign + name)
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(5)
    left = rng.integers(limits.min, limits.max, 40, dtype=dtype, endpoint=True)
    right = rng.integers(limits.min, limits.max, 40, dtype=dtype, endpoint=True)
    left[:2], right[:2] = [limits.min, limits.max], [limits.min, limits.max]
    type = spelled(left)
    result = run(f"%r = chlo.mulhi %a, %b : {type}, {type} -> {type}", type, left, right)
    products = [a * b for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert result.tolist() == [product >> limits.bits for product in products]


def test_mulhi_of_four_bits() -> None:
    text = """func.func @main(%a: tensor<3xi4>, %b: tensor<3xi4>) -> tensor<3xi4> {
      %r = chlo.mulhi %a, %b : tensor<3xi4>, tensor<3xi4> -> tensor<3xi4>
      return %r : tensor<3xi4>
    }"""
    left, right = np.array([7, -8, -8]), np.array([7, 7, -8])
    (result,) = run_text(text, [array.astype(ml_dtypes.int4) for array in (left, right)])
    assert result.astype(int).tolist() == [3, -4, 4]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_next_after_moves_one_place(dtype: Any) -> None:
    bits = f"u{np.dtype(dtype).itemsize}"
    array = np.array([1, 1, 1, 0, -0.0, 0, 1, np.nan, -2, np.inf], dtype)
    toward = np.array([2, -5, 1, 1, -1, -0.0, np.nan, 1, 0, 0], dtype)
    one = int(array[:1].view(bits)[0])
    largest = int(array[-1:].view(bits)[0]) - 1
    sign = int(array[4:5].view(bits)[0])
    quiet = int(np.array([np.nan], dtype).view(bits)[0])
    two = int(array[8:9].view(bits)[0])
    wanted = [one + 1, one - 1, one, 1, sign + 1, sign, quiet, quiet, two - 1, largest]
    assert applied("chlo.next_after", array, toward).view(bits).tolist() == wanted


def test_questions_about_infinity(run: Run) -> None:
    array = np.array([np.inf, -np.inf, np.nan, 1], np.float16)
    for name, wanted in (("is_inf", [1, 1, 0, 0]), ("is_neg_inf", [0, 1, 0, 0])):
        body = f"%r = chlo.{name} %a : tensor<4xf16> -> tensor<4xi1>"
        assert run(body, "tensor<4xi1>", array).tolist() == wanted
    body = "%r = chlo.is_pos_inf %a : tensor<4xf16> -> tensor<4xi1>"
    assert run(body, "tensor<4xi1>", array).tolist() == [1, 0, 0, 0]


def greatest(array: Array, count: int) -> tuple[Array, Array]:
    shape = "x".join(map(str, (*array.shape[:-1], count)))
    element = spelled(array)[:-1].split("x")[-1]
    results = f"(tensor<{shape}x{element}>, tensor<{shape}xi32>)"
    text = f"""func.func @main(%a: {spelled(array)}) -> {results} {{
      %v, %i = chlo.top_k(%a, k = {count}) : {spelled(array)} -> {results}
      return %v, %i : {results[1:-1]}
    }}"""
    values, places = run_text(text, [array])
    return values, places


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_top_k_of_floats_is_in_total_order(dtype: Any) -> None:
    minus = np.copysign(np.nan, -1.0)
    array = np.array([minus, 0.0, -np.inf, np.nan, -0.0, 0.0, np.inf], dtype)
    values, places = greatest(array, 7)
    assert places.tolist() == [3, 6, 1, 5, 4, 2, 0]
    assert differing(values, array[places]) == []


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int64, np.bool_])
def test_top_k_of_integers_keeps_the_order_of_equals(dtype: Any) -> None:
    array = np.array([[3, 0, 200, 3, 200], [1, 1, 0, 1, 0]]).astype(dtype)
    values, places = greatest(array, 3)
    # Python's sort keeps equals in order too.
    wanted = [sorted(range(5), key=lambda place: -int(row[place]))[:3] for row in array]
    assert places.tolist() == wanted
    assert values.tolist() == np.take_along_axis(array, np.array(wanted), 1).tolist()
