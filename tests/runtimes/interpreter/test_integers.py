"""Division, remainder, shifts and conversion of integers beside Python's own, by every path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled

Array = npt.NDArray[Any]

DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def operands(dtype: Any, kind: str) -> tuple[Array, Array]:
    """Returns 200 numbers a side: positive, of either sign, or with zeros among the divisors."""
    generator = np.random.default_rng(8)
    limits = np.iinfo(dtype)
    least = 1 if kind == "positive" else int(limits.min)
    left, right = (generator.integers(least, limits.max, 200, dtype, True) for _ in range(2))
    left[:3], right[:3] = (least, limits.max, least), (limits.max, 1, limits.max)
    right[right == 0] = 1
    if least < 0:
        right[0] = -1
    if kind == "zeros":
        right[5:9] = 0
    return left, right


def wrapped(values: list[int], dtype: Any) -> list[int]:
    return [value % 2 ** np.iinfo(dtype).bits for value in values]


def quotient(left: int, right: int) -> int:
    if right == 0:
        return -1
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left: int, right: int) -> int:
    return left - right * quotient(left, right) if right else left


@pytest.mark.parametrize("kind", ["positive", "either", "zeros"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quotient_is_truncated_and_a_remainder_is_what_it_leaves(
    run: Run, dtype: Any, kind: str
) -> None:
    left, right = operands(dtype, kind)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    for name, of in (("divide", quotient), ("remainder", remainder)):
        got = run(f"%r = stablehlo.{name} %a, %b : {spelled(left)}", spelled(left), left, right)
        assert wrapped(got.tolist(), dtype) == wrapped([of(*pair) for pair in pairs], dtype), name


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_shift_by_the_width_or_more_leaves_no_bit(run: Run, dtype: Any, outside: bool) -> None:
    left, _ = operands(dtype, "either")
    width = np.iinfo(dtype).bits
    amount = (np.arange(200) % (width + 40 if outside else width)).astype(dtype)
    if outside and np.iinfo(dtype).min:
        amount[7] = -1
    shifts = [each if 0 <= each < width else width for each in amount.tolist()]
    values = left.tolist()
    bits = [value % 2**width for value in values]
    for name, due in (
        ("shift_left", [value << by for value, by in zip(bits, shifts, strict=True)]),
        ("shift_right_logical", [value >> by for value, by in zip(bits, shifts, strict=True)]),
    ):
        got = run(f"%r = stablehlo.{name} %a, %b : {spelled(left)}", spelled(left), left, amount)
        assert wrapped(got.tolist(), dtype) == wrapped(due, dtype), name


def ended(value: float, least: int, greatest: int) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return greatest if value > 0 else least
    return min(max(int(value), least), greatest)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_float_is_truncated_and_ends_at_the_limits(run: Run, dtype: Any, inside: bool) -> None:
    limits = np.iinfo(dtype)
    array = np.random.default_rng(9).uniform(0, 100, 50)
    if limits.min:
        array[::2] *= -1
    if not inside:
        array[:5] = np.nan, np.inf, -np.inf, 2.0**limits.bits, -(2.0**limits.bits)
    due = [ended(each, int(limits.min), int(limits.max)) for each in array.tolist()]
    result = spelled(np.empty(50, dtype))
    got = run(f"%r = stablehlo.convert %a : ({spelled(array)}) -> {result}", result, array)
    assert got.tolist() == due
