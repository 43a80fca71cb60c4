"""Elements of eight bits and fewer: arithmetic, order, maps and constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.errors import ParseError
from topos.stablehlo.types import ELEMENTS, width

Array = np.ndarray[Any, Any]
FLOATS = tuple(name for name in ELEMENTS if name[0] == "f" and width(name) <= 8)
INTEGERS = ("i4", "ui4", "i2", "ui2")


def every(element: str) -> Array:
    """Returns all elements of a kind."""
    return np.arange(1 << width(element), dtype=np.uint8).view(ELEMENTS[element])


def pairs(element: str) -> tuple[Array, Array]:
    array = every(element)
    return np.repeat(array, array.size)[::7].copy(), np.tile(array, array.size)[::7].copy()


def bits(array: Array) -> list[int]:
    octets: list[int] = array.view(np.uint8).tolist()
    return octets


ARITHMETIC: tuple[tuple[str, np.ufunc], ...] = (
    ("add", np.add),
    ("subtract", np.subtract),
    ("multiply", np.multiply),
    ("divide", np.divide),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
)


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(("name", "ufunc"), ARITHMETIC, ids=[case[0] for case in ARITHMETIC])
def test_arithmetic_rounds_once(run: Run, name: str, ufunc: np.ufunc, element: str) -> None:
    left, right = pairs(element)
    type = f"tensor<{left.size}x{element}>"
    result = run(f"%r = stablehlo.{name} %a, %b : {type}", type, left, right)
    with np.errstate(all="ignore"):
        wide = ufunc(left.astype(np.float64), right.astype(np.float64))
        # A quotient of so few digits is no midpoint unless it is one exactly.
        wanted = wide.astype(np.float32).astype(result.dtype).astype(np.float64)
    # Without a NaN of its own a format has no one answer.
    kept = ~np.isnan(wide) if width(element) < 8 else np.ones(left.size, np.bool_)
    if element == "f8E8M0FNU":
        # What float32 rounds to a zero has the least number nearest.
        kept = np.isnan(wide) | (np.abs(wide) >= 2.0**-127)
    np.testing.assert_array_equal(result.astype(np.float64)[kept], wanted[kept])


def test_a_nan_is_the_positive_quiet_one(run: Run) -> None:
    array = np.array([0xFF, 0x7F], np.uint8).view(ELEMENTS["f8E4M3FN"])
    type = "tensor<2xf8E4M3FN>"
    assert bits(run(f"%r = stablehlo.add %a, %a : {type}", type, array)) == [0x7F, 0x7F]
    assert bits(run(f"%r = stablehlo.negate %a : {type}", type, array)) == [0x7F, 0x7F]


MAPS: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("exponential", math.exp),
    ("log", math.log),
    ("tanh", math.tanh),
    ("tan", math.tan),
    ("cbrt", math.cbrt),
    ("sine", math.sin),
    ("sqrt", math.sqrt),
    ("floor", math.floor),
)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "f6E3M2FN", "f4E2M1FN"])
@pytest.mark.parametrize(("name", "map"), MAPS, ids=[case[0] for case in MAPS])
def test_a_map_is_the_nearest_number(run: Run, name: str, map: Any, element: str) -> None:
    with np.errstate(all="ignore"):
        values = every(element).astype(np.float64)
    array = every(element)[np.isfinite(values) & (values > 0) & (values < 700)]
    type = f"tensor<{array.size}x{element}>"
    result = run(f"%r = stablehlo.{name} %a : {type}", type, array)
    exact = np.array([float(map(value)) for value in array.astype(np.float64)])
    if element == "f8E8M0FNU":
        exact[exact <= 0] = np.nan
    with np.errstate(all="ignore"):
        wanted = exact.astype(np.float32).astype(result.dtype)
    assert bits(result) == bits(wanted)


def test_many_elements_are_mapped_as_few_are(run: Run) -> None:
    array = np.tile(every("f8E3M4"), 4)
    few, many = (
        run(f"%r = stablehlo.exponential %a : {type}", type, part)
        for part in (array[:256], array)
        for type in [f"tensor<{part.size}xf8E3M4>"]
    )
    assert bits(many) == bits(few) * 4


def quotient(left: int, right: int) -> int:
    if right == 0:
        return -1
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left: int, right: int) -> int:
    return left if right == 0 else left - right * quotient(left, right)


def raised(left: int, right: int) -> int:
    if right >= 0:
        return int(left**right)
    return {1: 1, -1: -1 if right % 2 else 1}.get(left, 0)


INTEGER: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("add", int.__add__),
    ("subtract", int.__sub__),
    ("multiply", int.__mul__),
    ("divide", quotient),
    ("remainder", remainder),
    ("power", raised),
    ("maximum", max),
    ("minimum", min),
)


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize(("name", "meaning"), INTEGER, ids=[case[0] for case in INTEGER])
def test_integers_wrap_in_their_own_width(run: Run, name: str, meaning: Any, element: str) -> None:
    array = every(element)
    left, right = np.repeat(array, array.size), np.tile(array, array.size)
    type = f"tensor<{left.size}x{element}>"
    result = run(f"%r = stablehlo.{name} %a, %b : {type}", type, left, right)
    carrier = np.uint8 if element.startswith("u") else np.int8
    operands = zip(left.astype(carrier).tolist(), right.astype(carrier).tolist(), strict=True)
    assert bits(result) == [meaning(a, b) % (1 << width(element)) for a, b in operands]


@pytest.mark.parametrize("element", ["f8E4M3FN", "f6E2M3FN", "f4E2M1FN", "i4", "ui2"])
@pytest.mark.parametrize("direction", ["EQ", "LT", "GE"])
def test_elements_compare_as_their_numbers(run: Run, element: str, direction: str) -> None:
    left, right = pairs(element)
    type, truth = f"tensor<{left.size}x{element}>", f"tensor<{left.size}xi1>"
    result = run(
        f"%r = stablehlo.compare {direction}, %a, %b : ({type}, {type}) -> {truth}",
        truth,
        left,
        right,
    )
    first, second = left.astype(np.float32), right.astype(np.float32)
    compare = {"EQ": np.equal, "LT": np.less, "GE": np.greater_equal}[direction]
    assert result.tolist() == compare(first, second).tolist()


def test_total_order_finds_the_sign_of_a_narrow_float(run: Run) -> None:
    # -1, -0, +0 and 1 of four bits.
    array = np.array([0xA, 0x8, 0x0, 0x2], np.uint8).view(ELEMENTS["f4E2M1FN"])
    type = "tensor<3xf4E2M1FN>"
    body = f"%r = stablehlo.compare LT, %a, %b, TOTALORDER : ({type}, {type}) -> tensor<3xi1>"
    assert run(body, "tensor<3xi1>", array[:-1], array[1:]).tolist() == [True, True, True]


CONSTANTS = (
    ("[-8, 7, 15, 0xF]", "4xi4", [8, 7, 15, 15]),
    ("[-2, 1, 3]", "3xi2", [2, 1, 3]),
    ("[0, 15]", "2xui4", [0, 15]),
    ('"0x0F07"', "2xi4", [15, 7]),
    ("[0.3, -0.3, 0x7F]", "3xf8E4M3FN", [0x2A, 0xAA, 0x7F]),
    ("1.0", "2xf6E3M2FN", [0xC, 0xC]),
    ("[0x0, 0.4, 100.0]", "3xf4E2M1FN", [0, 1, 7]),
    ("[0.0, 1.0, 3.1]", "3xf8E8M0FNU", [0, 127, 129]),
)


@pytest.mark.parametrize(("body", "type", "wanted"), CONSTANTS)
def test_a_constant_has_its_bits(run: Run, body: str, type: str, wanted: list[int]) -> None:
    result = run(f"%r = stablehlo.constant dense<{body}> : tensor<{type}>", f"tensor<{type}>")
    assert bits(result) == wanted


@pytest.mark.parametrize(
    ("body", "type"), [("16", "2xi4"), ("-1", "ui2"), ("0x40", "f6E2M3FN"), ("0x10", "f4E2M1FN")]
)
def test_a_constant_that_is_too_wide_is_refused(run: Run, body: str, type: str) -> None:
    with pytest.raises(ParseError, match=r"needs elements of"):
        run(f"%r = stablehlo.constant dense<{body}> : tensor<{type}>", f"tensor<{type}>")


@pytest.mark.parametrize("element", ["i4", "ui2", "f8E5M2", "f8E4M3FNUZ", "complex<f32>"])
def test_iota_counts(run: Run, element: str) -> None:
    type = f"tensor<4x{element}>"
    result = run(f"%r = stablehlo.iota dim = 0 : {type}", type)
    assert result.astype(np.complex64).tolist() == [0, 1, 2, 3]


def test_clamp_and_select_take_small_elements(run: Run) -> None:
    array = np.array([-8, -1, 0, 7], np.int8).astype(ELEMENTS["i4"])
    low, high = (np.array(end, np.int8).astype(ELEMENTS["i4"]) for end in (-2, 3))
    types = "(tensor<i4>, tensor<4xi4>, tensor<i4>) -> tensor<4xi4>"
    result = run(f"%r = stablehlo.clamp %a, %b, %c : {types}", "tensor<4xi4>", low, array, high)
    assert result.astype(np.int8).tolist() == [-2, -1, 0, 3]
    mask = np.array([True, False, True, False])
    types = "tensor<4xi1>, tensor<4xi4>"
    result = run(f"%r = stablehlo.select %a, %b, %c : {types}", "tensor<4xi4>", mask, array, result)
    assert result.astype(np.int8).tolist() == [-8, -1, 0, 3]
