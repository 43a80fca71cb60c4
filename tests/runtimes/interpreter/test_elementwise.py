"""Elementwise operations, bits, comparisons and conversions, by hand-computed values."""

from __future__ import annotations

import math
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import NAMES, Run
from topos.runtimes.interpreter.kernels import floats
from topos.runtimes.interpreter.kernels.elementwise import kernel_of
from topos.stablehlo.dialect import find
from topos.stablehlo.dialect.chlo_functions import Erf, Square

INF, NAN = float("inf"), float("nan")
FLOATS = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
QUIET = {8: 0x7FF8000000000000, 4: 0x7FC00000, 2: {"float16": 0x7E00, "bfloat16": 0x7FC0}}


def same(array: np.ndarray[Any, Any], wanted: Any) -> None:
    """Demands the bits of `wanted` in the dtype of `array`."""
    assert array.tobytes() == np.array(wanted, np.float64).astype(array.dtype).tobytes()


UNARY = (
    ("stablehlo.abs", [-1.5, -0.0, -INF], [1.5, 0.0, INF]),
    ("stablehlo.ceil", [1.25, -0.5, INF], [2.0, -0.0, INF]),
    ("stablehlo.floor", [1.25, -0.5, -0.0], [1.0, -1.0, -0.0]),
    ("stablehlo.cosine", [0.0, -0.0], [1.0, 1.0]),
    ("stablehlo.exponential", [0.0, -INF, INF], [1.0, 0.0, INF]),
    ("stablehlo.exponential_minus_one", [-0.0, -INF], [-0.0, -1.0]),
    ("stablehlo.log", [1.0, 0.0, INF], [0.0, -INF, INF]),
    ("stablehlo.log_plus_one", [-0.0, -1.0], [-0.0, -INF]),
    ("stablehlo.logistic", [0.0, -INF, INF], [0.5, 0.0, 1.0]),
    ("stablehlo.negate", [1.0, 0.0, -INF], [-1.0, -0.0, INF]),
    ("stablehlo.round_nearest_afz", [0.5, -2.5, 0.25], [1.0, -3.0, 0.0]),
    ("stablehlo.round_nearest_even", [0.5, -2.5, 3.5], [0.0, -2.0, 4.0]),
    ("stablehlo.rsqrt", [4.0, INF, -0.0], [0.5, 0.0, -INF]),
    ("stablehlo.sign", [-3.0, -0.0, 7.0], [-1.0, -0.0, 1.0]),
    ("stablehlo.sine", [-0.0, 0.0], [-0.0, 0.0]),
    ("stablehlo.sqrt", [9.0, -0.0, 0.25], [3.0, -0.0, 0.5]),
    ("stablehlo.tanh", [-0.0, INF, -INF], [-0.0, 1.0, -1.0]),
    ("chlo.erf", [-0.0, INF, -INF], [-0.0, 1.0, -1.0]),
    ("chlo.square", [-3.0, -0.0], [9.0, 0.0]),
)
BINARY = (
    ("stablehlo.add", [1.5, -0.0, INF], [2.0, -0.0, 1.0], [3.5, -0.0, INF]),
    ("stablehlo.subtract", [1.5, 0.0], [2.0, 0.0], [-0.5, 0.0]),
    ("stablehlo.multiply", [1.5, -0.0], [2.0, 3.0], [3.0, -0.0]),
    ("stablehlo.divide", [1.0, -1.0], [4.0, 0.0], [0.25, -INF]),
    ("stablehlo.maximum", [-0.0, 1.0], [0.0, 2.0], [0.0, 2.0]),
    ("stablehlo.minimum", [-0.0, 1.0], [0.0, 2.0], [-0.0, 1.0]),
    ("stablehlo.power", [2.0, -2.0, 0.0], [3.0, -1.0, 0.0], [8.0, -0.5, 1.0]),
    ("stablehlo.remainder", [7.0, -7.0, -0.0], [4.0, 4.0, 1.0], [3.0, -3.0, -0.0]),
)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(("name", "values", "wanted"), UNARY, ids=[case[0] for case in UNARY])
def test_a_map_of_floats(run: Run, name: str, values: Any, wanted: Any, dtype: Any) -> None:
    array = np.array(values, dtype)
    type = f"tensor<{len(values)}x{NAMES[array.dtype.name]}>"
    arrow = f"{type} -> {type}" if name.startswith("chlo") else type
    same(run(f"%r = {name} %a : {arrow}", type, array), wanted)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(("name", "left", "right", "wanted"), BINARY, ids=[c[0] for c in BINARY])
def test_arithmetic_of_floats(
    run: Run, name: str, left: Any, right: Any, wanted: Any, dtype: Any
) -> None:
    first, second = np.array(left, dtype), np.array(right, dtype)
    type = f"tensor<{len(left)}x{NAMES[first.dtype.name]}>"
    same(run(f"%r = {name} %a, %b : {type}", type, first, second), wanted)


# Of these a library's cube root may well be the neighbour of the nearest number.
ROOTS = np.array([-0.37602715054974273, 0.8442439176815353, -0.10257528408332377, 0.19727995732612])
ANGLES = np.array([1e-300, 0.5, 1.5707963267948966, -3.0, 22.0, 1e5, 1e22, 6e307])


@pytest.mark.parametrize(("name", "function"), [("tan", gmpy2.tan), ("cbrt", gmpy2.cbrt)])
def test_a_map_that_the_oracle_lacks_is_the_nearest_number(
    run: Run, name: str, function: Any
) -> None:
    for array in (ANGLES, ANGLES[1:6].astype(np.float32), ANGLES[1:5].astype(np.float16), ROOTS):
        type = f"tensor<{array.size}x{NAMES[array.dtype.name]}>"
        result = run(f"%r = stablehlo.{name} %a : {type}", type, array)
        with gmpy2.context(precision=1200):
            exact = [float(function(gmpy2.mpfr(value))) for value in array.tolist()]
        with np.errstate(all="ignore"):
            same(result, exact)


def test_atan2_is_the_nearest_number(run: Run) -> None:
    y, x = np.array([1.0, -2.5, 1e-300, 3e200, 1e-20]), np.array([3.0, -0.1, -7.0, 1e-9, 2.0])
    result = run("%r = stablehlo.atan2 %a, %b : tensor<5xf64>", "tensor<5xf64>", y, x)
    with gmpy2.context(precision=1200):
        exact = [
            float(gmpy2.atan2(gmpy2.mpfr(first), gmpy2.mpfr(second)))
            for first, second in zip(y.tolist(), x.tolist(), strict=True)
        ]
    same(result, exact)


MORE = (
    ("tan", [-0.0, INF, NAN], None, [-0.0, NAN, NAN]),
    ("cbrt", [-0.0, -INF, 27.0], None, [-0.0, -INF, 3.0]),
    (
        "atan2",
        [0.0, -0.0, 1.0, INF],
        [-0.0, 1.0, 0.0, -INF],
        [math.pi, -0.0, math.pi / 2, 2.356194490192345],
    ),
)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(("name", "left", "right", "wanted"), MORE, ids=[case[0] for case in MORE])
def test_special_values_of_further_maps(
    run: Run, name: str, left: Any, right: Any, wanted: Any, dtype: Any
) -> None:
    arrays = [np.array(part, dtype) for part in (left, right) if part is not None]
    type = f"tensor<{len(left)}x{NAMES[arrays[0].dtype.name]}>"
    operands = ", ".join(f"%{letter}" for letter, _ in zip("ab", arrays, strict=False))
    same(run(f"%r = stablehlo.{name} {operands} : {type}", type, *arrays), wanted)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(
    "name",
    sorted(each.operation_name for each in floats.FAST if each not in (Erf, Square)),
)
def test_the_fast_posture_agrees(name: str, dtype: Any) -> None:
    element = NAMES[np.dtype(dtype).name]
    definition = find(name)
    assert definition
    fast, exact = kernel_of(definition, element, False), kernel_of(definition, element)
    assert fast
    assert exact
    values = np.array([0.25, 1.5, 2.75, 3.5, 0.875]).astype(dtype)
    count = 2 if name in PAIRED else 1
    arrays = (values, values[::-1])[:count]
    units = 2.0**-21 if dtype == np.float32 else 2.0**-50
    tolerance = units if np.dtype(dtype).itemsize > 2 else 2.0**-7
    got, wanted = fast(*arrays).astype(np.float64), exact(*arrays).astype(np.float64)
    np.testing.assert_allclose(got, wanted, rtol=tolerance)


PAIRED = {case[0] for case in BINARY} | {"stablehlo.atan2"}


def test_the_number_below_a_half_rounds_to_zero(run: Run) -> None:
    array = np.nextafter(np.array([0.5, -0.5]), 0)
    result = run("%r = stablehlo.round_nearest_afz %a : tensor<2xf64>", "tensor<2xf64>", array)
    same(result, [0.0, -0.0])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", ["add", "maximum", "divide", "power", "remainder"])
def test_what_computes_a_nan_computes_the_canonical_one(run: Run, name: str, dtype: Any) -> None:
    array = -np.array([NAN, NAN], dtype)
    type = f"tensor<2x{NAMES[array.dtype.name]}>"
    quiet: Any = QUIET[array.dtype.itemsize]
    bits = quiet if isinstance(quiet, int) else quiet[array.dtype.name]
    result = run(f"%r = stablehlo.{name} %a, %a : {type}", type, array)
    assert result.view(f"u{array.dtype.itemsize}").tolist() == [bits, bits]


INTEGER = (
    ("add", np.int8, [127, -1], [1, 1], [-128, 0]),
    ("add", np.uint16, [65535], [2], [1]),
    ("subtract", np.int16, [-32768], [1], [32767]),
    ("multiply", np.int16, [300, -200], [300, 200], [24464, 25536]),
    ("multiply", np.uint16, [40000], [40000], [40000 * 40000 % 65536]),
    ("divide", np.int32, [7, -7, 7, 5], [2, 2, -2, 0], [3, -3, -3, -1]),
    ("divide", np.int8, [-128], [-1], [-128]),
    ("divide", np.uint8, [200, 1], [7, 0], [28, 255]),
    ("remainder", np.int64, [7, -7, 7, 5], [2, 2, -2, 0], [1, -1, 1, 5]),
    ("maximum", np.int16, [-5, 30000], [4, 29999], [4, 30000]),
    ("minimum", np.uint64, [2**64 - 1], [2**63], [2**63]),
    ("power", np.int32, [3, -1, 2, 1], [4, -3, -1, -5], [81, -1, 0, 1]),
    ("and", np.int32, [12], [10], [8]),
    ("or", np.uint8, [12], [10], [14]),
    ("xor", np.int64, [12], [10], [6]),
    ("shift_left", np.int8, [1, 1, 3], [7, 8, -1], [-128, 0, 0]),
    ("shift_right_logical", np.int8, [-128, -1], [7, 8], [1, 0]),
    ("shift_right_arithmetic", np.int8, [-128, -128, 64], [7, 9, 9], [-1, -1, 0]),
    ("shift_right_arithmetic", np.uint8, [128], [9], [255]),
    ("add", np.bool_, [True, False], [True, False], [True, False]),
    ("multiply", np.bool_, [True, True], [True, False], [True, False]),
    ("xor", np.bool_, [True, True], [True, False], [False, True]),
)


@pytest.mark.parametrize(("name", "dtype", "left", "right", "wanted"), INTEGER)
def test_arithmetic_of_integers(
    run: Run, name: str, dtype: Any, left: Any, right: Any, wanted: Any
) -> None:
    first, second = np.array(left, dtype), np.array(right, dtype)
    type = f"tensor<{len(left)}x{NAMES[first.dtype.name]}>"
    result = run(f"%r = stablehlo.{name} %a, %b : {type}", type, first, second)
    assert result.tolist() == wanted


@pytest.mark.parametrize(
    ("name", "dtype", "values", "wanted"),
    [
        ("abs", np.int8, [-128, -1], [-128, 1]),
        ("negate", np.uint8, [1, 0], [255, 0]),
        ("sign", np.int16, [-7, 0, 7], [-1, 0, 1]),
        ("not", np.int8, [0, 5], [-1, -6]),
        ("not", np.bool_, [True, False], [False, True]),
        ("popcnt", np.int8, [-1, 5, -128], [8, 2, 1]),
        ("count_leading_zeros", np.int16, [0, 1, -1, 256], [16, 15, 0, 7]),
        ("count_leading_zeros", np.uint64, [1], [63]),
    ],
)
def test_a_map_of_integers(run: Run, name: str, dtype: Any, values: Any, wanted: Any) -> None:
    array = np.array(values, dtype)
    type = f"tensor<{len(values)}x{NAMES[array.dtype.name]}>"
    assert run(f"%r = stablehlo.{name} %a : {type}", type, array).tolist() == wanted


DIRECTIONS = {"EQ": "010", "NE": "101", "LT": "100", "LE": "110", "GT": "001", "GE": "011"}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint16, ml_dtypes.bfloat16])
def test_a_comparison(run: Run, direction: str, dtype: Any) -> None:
    left, right = np.array([1, 2, 3], dtype), np.array([2, 2, 2], dtype)
    type = f"tensor<3x{NAMES[left.dtype.name]}>"
    body = f"%r = stablehlo.compare {direction}, %a, %b : ({type}, {type}) -> tensor<3xi1>"
    result = run(body, "tensor<3xi1>", left, right)
    assert "".join(str(int(bit)) for bit in result) == DIRECTIONS[direction]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("FLOAT", [False, False, True, True, True]),
        ("TOTALORDER", [True, False, True, True, True]),
    ],
)
def test_a_comparison_of_special_floats(run: Run, kind: str, wanted: list[bool]) -> None:
    left, right = np.array([-0.0, NAN, -INF, 1.0, -2.0]), np.array([0.0, 1.0, 1.0, 2.0, -1.0])
    type = "tensor<5xf64>"
    body = f"%r = stablehlo.compare LT, %a, %b, {kind} : ({type}, {type}) -> tensor<5xi1>"
    assert run(body, "tensor<5xi1>", left, right).tolist() == wanted


def test_select_keeps_bits(run: Run) -> None:
    left = np.array([0x7FC00001, 0xFF800001], np.uint32).view(np.float32)
    right = np.array([1.0, 2.0], np.float32)
    body = "%r = stablehlo.select %a, %b, %c : tensor<{}i1>, tensor<2xf32>"
    result = run(body.format("2x"), "tensor<2xf32>", np.array([True, False]), left, right)
    assert result.tobytes() == left[:1].tobytes() + right[1:].tobytes()
    result = run(body.format(""), "tensor<2xf32>", np.array(True), left, right)
    assert result.tobytes() == left.tobytes()


def test_clamp_takes_scalar_bounds_and_whole_ones(run: Run) -> None:
    array = np.array([-5.0, 0.5, 5.0], np.float32)
    low, high = np.float32(-1), np.float32(1)
    types = "(tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>"
    body = f"%r = stablehlo.clamp %a, %b, %c : {types}"
    assert run(body, "tensor<3xf32>", low, array, high).tolist() == [-1.0, 0.5, 1.0]
    body = "%r = stablehlo.clamp %a, %b, %c : tensor<3xi8>"
    lows, values, highs = (
        np.array([0, 0, 0], np.int8),
        np.array([-3, 2, 9], np.int8),
        np.array([5, 1, 5], np.int8),
    )
    assert run(body, "tensor<3xi8>", lows, values, highs).tolist() == [0, 1, 5]


def test_is_finite(run: Run) -> None:
    array = np.array([1.0, INF, NAN, -INF], ml_dtypes.bfloat16)
    body = "%r = stablehlo.is_finite %a : (tensor<4xbf16>) -> tensor<4xi1>"
    assert run(body, "tensor<4xi1>", array).tolist() == [True, False, False, False]


def test_iota_counts_along_its_axis(run: Run) -> None:
    for element in ("f32", "bf16", "i8", "ui64"):
        result = run(
            f"%r = stablehlo.iota dim = 1 : tensor<2x3x{element}>", f"tensor<2x3x{element}>"
        )
        assert result.tolist() == [[0, 1, 2], [0, 1, 2]]
