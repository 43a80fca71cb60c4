"""Conversion between every two elements, against exact fractions."""

from __future__ import annotations

from bisect import bisect
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import NAMES, Run
from topos.stablehlo.types import ELEMENTS, component, width

Array = np.ndarray[Any, Any]
INF, NAN = float("inf"), float("nan")
NARROW = ("bf16", "f16", "f8E4M3FN", "f8E5M2", "f8E3M4", "f6E2M3FN", "f4E2M1FN")
INTEGERS = tuple(name for name in ELEMENTS if name[0] in "iu" and name != "i1")


def converted(run: Run, array: Array, source: str, target: str) -> Array:
    type = f"tensor<{array.size}x{target}>"
    return run(
        f"%r = stablehlo.convert %a : (tensor<{array.size}x{source}>) -> {type}", type, array
    )


@cache
def finite(element: str) -> list[tuple[Fraction, int]]:
    """Returns the finite numbers of a narrow element with their bits, ascending."""
    bits = width(element)
    unsigned = np.arange(1 << bits).astype(f"u{ELEMENTS[element].itemsize}")
    with np.errstate(all="ignore"):
        values = unsigned.view(ELEMENTS[element]).astype(np.float64)
    numbers = [
        (Fraction(float(value)), int(pattern))
        for value, pattern in zip(values, unsigned, strict=True)
        if np.isfinite(value) and (value != 0 or pattern == 0)
    ]
    return sorted(numbers)


@pytest.mark.parametrize("source", ["f64", "i64", "ui64"])
@pytest.mark.parametrize("target", NARROW)
def test_a_number_rounds_once_to_the_nearest(run: Run, source: str, target: str) -> None:
    numbers = finite(target)
    rng = np.random.default_rng(0)
    # Halfway between neighbours, and a last bit beside it, which a rounding in between would lose.
    picked = rng.integers(len(numbers) // 2 + 1, len(numbers) - 1, 200)
    middles = [(numbers[place][0] + numbers[place + 1][0]) / 2 for place in picked]
    if source == "f64":
        exact = [float(middle) * (1 + step * 2.0**-50) for middle in middles for step in (-1, 0, 1)]
        array = np.array([*exact, *(-number for number in exact)])
    else:
        whole = [middle for middle in middles if middle.denominator == 1 and middle < 2**62]
        near = [int(middle) + step for middle in whole for step in (-1, 0, 1)]
        array = np.array([*near, 0, 1], ELEMENTS[source])
    result = converted(run, array, source, target)
    for value, got in zip(array.tolist(), result.view(f"u{result.dtype.itemsize}"), strict=True):
        wanted = nearest(Fraction(value), numbers)
        assert Fraction(float(wanted[0])) == Fraction(float(got.view(result.dtype))), value


def nearest(value: Fraction, numbers: list[tuple[Fraction, int]]) -> tuple[Fraction, int]:
    """Returns the nearest number, of two the one whose last bit is clear."""
    place = bisect(numbers, (value, 0))
    around = numbers[max(place - 1, 0) : place + 2]
    return min(around, key=lambda number: (abs(number[0] - value), number[1] & 1))


@pytest.mark.parametrize("target", INTEGERS)
def test_a_float_is_cut_off_and_saturates(run: Run, target: str) -> None:
    limits: Any = ml_dtypes.iinfo(ELEMENTS[target])  # type: ignore[no-untyped-call]
    values = [0.0, -0.9, 1.9, -1.9, 3.5, 200.7, -200.7, 1e10, -1e10, 1e30, -1e30]
    array = np.array([*values, np.inf, -np.inf, np.nan])
    result = converted(run, array, "f64", target)
    ends = [limits.max, limits.min, 0]
    wanted = [min(max(int(value), limits.min), limits.max) for value in values]
    assert [int(value) for value in result.astype(object)] == [*wanted, *ends]


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_an_integer_wraps(run: Run, source: str, target: str) -> None:
    if source == target:
        return
    limits: Any = ml_dtypes.iinfo(ELEMENTS[source])  # type: ignore[no-untyped-call]
    values = [limits.min, limits.max, 0, 1, limits.max - 1, limits.max // 3]
    carrier = np.uint64 if target.startswith("u") else np.int64
    array = np.array(values, np.uint64 if limits.max > 2**63 else np.int64).astype(ELEMENTS[source])
    result = converted(run, array, source, target)
    bits = width(target)
    wrapped = [value % (1 << bits) for value in values]
    signed = [value - (1 << bits) if value >> (bits - 1) else value for value in wrapped]
    wanted = wrapped if target.startswith("u") else signed
    assert result.astype(carrier).tolist() == wanted


@pytest.mark.parametrize("source", ["i1", "i4", "ui2", "i64", "f8E5M2", "bf16", "f64"])
@pytest.mark.parametrize("target", ["complex<f32>", "complex<f64>"])
def test_a_real_number_gains_an_imaginary_zero(run: Run, source: str, target: str) -> None:
    array = np.array([0, 1]).astype(ELEMENTS[source])
    result = converted(run, array, source, target)
    assert result.tobytes() == np.array([0, 1], ELEMENTS[target]).tobytes()


@pytest.mark.parametrize("target", ["f64", "f16", "f8E4M3FN", "i32", "ui4", "i2", "i1"])
def test_a_complex_number_loses_its_imaginary_part(run: Run, target: str) -> None:
    array = np.array([1 + 5j, 0 + 1j], np.complex64)
    result = converted(run, array, "complex<f32>", target)
    assert result.tobytes() == np.array([1, 0]).astype(ELEMENTS[target]).tobytes()


def test_complex_parts_round_and_overflow(run: Run) -> None:
    array = np.array([1 + 2.0**-24 - 1e300j, complex(-0.0, np.nan)])
    result = converted(run, array, "complex<f64>", "complex<f32>")
    assert result.view(np.uint32).tolist() == [0x3F800000, 0xFF800000, 0x80000000, 0x7FC00000]
    assert component("complex<f32>") == "f32"


def test_an_integer_rounds_once_to_a_complex_number(run: Run) -> None:
    # Just above the middle of two numbers of f32, which in f64 would be the middle.
    array = np.array([2**60 + 2**36 + 1], np.int64)
    result = converted(run, array, "i64", "complex<f32>")
    assert result.tolist() == [complex(2.0**60 + 2.0**37, 0.0)]


@pytest.mark.parametrize("source", ["f32", "f8E4M3FNUZ", "i4", "ui64", "complex<f64>"])
def test_a_truth_value_is_whether_the_number_is_zero(run: Run, source: str) -> None:
    array = np.array([0, 1, 2]).astype(ELEMENTS[source])
    assert converted(run, array, source, "i1").tolist() == [False, True, True]


def test_past_the_range_of_a_small_float_is_what_the_format_has(run: Run) -> None:
    array = np.array([1e30, -1e30, np.inf, np.nan], np.float32)
    for target, wanted in (
        ("f8E5M2", [0x7C, 0xFC, 0x7C, 0x7E]),
        ("f8E4M3FN", [0x7F, 0xFF, 0x7F, 0x7F]),
        ("f8E4M3FNUZ", [0x80, 0x80, 0x80, 0x80]),
        ("f4E2M1FN", [0x7, 0xF, 0x7, 0x8]),
    ):
        assert converted(run, array, "f32", target).view(np.uint8).tolist() == wanted, target


CONVERSIONS = (
    (np.float32, np.int32, [1.9, -1.9, NAN, 3e9, -3e9], [1, -1, 0, 2**31 - 1, -(2**31)]),
    (np.float32, np.uint8, [1.9, -1.9, NAN, 300.0, 255.5], [1, 0, 0, 255, 255]),
    (np.float64, np.uint64, [2.0**64, 2.0**63, -1.0], [2**64 - 1, 2**63, 0]),
    (np.float64, np.int64, [2.0**63, -(2.0**63)], [2**63 - 1, -(2**63)]),
    (np.int32, np.float32, [16777217, -1], [16777216.0, -1.0]),
    (np.int32, np.int8, [300, -129], [44, 127]),
    (np.int8, np.uint16, [-1], [65535]),
    (np.bool_, np.float16, [True, False], [1.0, 0.0]),
    (np.float32, np.bool_, [0.5, 0.0, NAN, -0.0], [True, False, True, False]),
    (np.float64, np.float32, [1 + 2.0**-24, 1e300], [1.0, INF]),
    (np.float32, ml_dtypes.bfloat16, [1.00390625, 1.01171875], [1.0, 1.015625]),
    (np.int16, np.float64, [-32768], [-32768.0]),
)


@pytest.mark.parametrize(("source", "target", "values", "wanted"), CONVERSIONS)
def test_a_conversion(run: Run, source: Any, target: Any, values: Any, wanted: Any) -> None:
    array = np.array(values, source)
    before, after = NAMES[array.dtype.name], NAMES[np.dtype(target).name]
    result_type = f"tensor<{len(values)}x{after}>"
    body = f"%r = stablehlo.convert %a : (tensor<{len(values)}x{before}>) -> {result_type}"
    result = run(body, result_type, array)
    assert result.dtype == target
    assert result.tolist() == np.array(wanted, target).tolist()
