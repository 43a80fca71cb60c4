"""Arithmetic equals exact rational arithmetic rounded once, in every element and layout."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels import arithmetic

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]
Nearest = Callable[[Fraction, Any], Any]

SHAPES = [(), (0,), (1,), (3, 0, 2), (7,), (5, 3), (9, 33)]
EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "divide": lambda left, right: left / right,
}


def special(name: str, left: float, right: float) -> float:
    """Returns the result where an operand is not finite or the exact result is a zero."""
    if name == "add":
        return left + right
    if name == "subtract":
        return left - right
    sign = math.copysign(1, left) * math.copysign(1, right)
    if name == "multiply":
        return left * right
    if math.isnan(left) or math.isnan(right) or (math.isinf(left) and math.isinf(right)):
        return math.nan
    if right == 0:
        return math.nan if left == 0 else sign * math.inf
    return sign * (math.inf if math.isinf(left) else 0.0)


def expected_number(name: str, left: Any, right: Any, nearest: Nearest) -> Any:
    dtype, first, second = left.dtype, float(left), float(right)
    ordinary = math.isfinite(first) and math.isfinite(second) and (name, second) != ("divide", 0)
    value = EXACT[name](Fraction(first), Fraction(second)) if ordinary else Fraction(0)
    if value != 0:
        return nearest(value, dtype)
    result = special(name, first, second)
    # A NaN of Python carries the payload of an operand; this one is canonical.
    return dtype.type(math.nan if math.isnan(result) else result)


def elementwise(function: Callable[..., Any], *arrays: Array) -> Array:
    flat = [array.reshape(-1) for array in arrays]
    result = np.empty(arrays[0].size, arrays[0].dtype)
    for i in range(result.size):
        result[i] = function(*(array[i] for array in flat))
    return result.reshape(arrays[0].shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_rounds_the_exact_result_once(
    name: str,
    shape: tuple[int, ...],
    floating: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
    nearest: Nearest,
) -> None:
    left, right = draw(floating, shape, 1), draw(floating, shape, 2)
    with np.errstate(all="ignore"):
        expected = elementwise(lambda x, y: expected_number(name, x, y, nearest), left, right)
    for first, second in zip(layouts(left), reversed(layouts(right)), strict=True):
        assert same(getattr(arithmetic, name)(first, second), expected)


@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_of_all_pairs_of_specials(
    name: str,
    floating: np.dtype[Any],
    specials: Callable[[np.dtype[Any]], Array],
    same: Same,
    nearest: Nearest,
) -> None:
    values = specials(floating)
    left, right = np.broadcast_arrays(values[:, None], values[None, :])
    with np.errstate(all="ignore"):
        expected = elementwise(lambda x, y: expected_number(name, x, y, nearest), left, right)
    assert same(getattr(arithmetic, name)(left, right), expected)


def greater(left: Any, right: Any) -> Any:
    if left != left or right != right:
        return left.dtype.type(np.nan)
    if left == right:
        return right if np.signbit(np.float64(left)) else left
    return left if left > right else right


def lesser(left: Any, right: Any) -> Any:
    if left != left or right != right:
        return left.dtype.type(np.nan)
    if left == right:
        return left if np.signbit(np.float64(left)) else right
    return left if left < right else right


@pytest.mark.parametrize("count", [1, 2, 3, 15, 16, 17, 24, 64, 1000])
def test_extremes_order_zeros_and_keep_nan(
    count: int,
    floating: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    specials: Callable[[np.dtype[Any]], Array],
    same: Same,
) -> None:
    zeros = np.zeros(count, floating)
    signed = np.where(np.arange(count) % 2 == 0, -zeros, zeros).astype(floating)
    pairs = [
        (draw(floating, (count,), 5), draw(floating, (count,), 6)),
        (zeros, signed),
        (signed, -zeros),
        (signed, np.ascontiguousarray(signed[::-1])),
        (np.resize(specials(floating), count), np.resize(specials(floating)[::-1], count)),
    ]
    for left, right in pairs:
        with np.errstate(all="ignore"):
            wanted = elementwise(greater, left, right), elementwise(lesser, left, right)
        for first, second in zip(layouts(left), layouts(right), strict=True):
            assert same(arithmetic.maximum(first, second), wanted[0])
            assert same(arithmetic.minimum(first, second), wanted[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_step_is_one_from_the_threshold_on(
    shape: tuple[int, ...], floating: np.dtype[Any], draw: Draw, layouts: Layouts, same: Same
) -> None:
    left, threshold = draw(floating, shape, 7), draw(floating, shape, 8)
    with np.errstate(all="ignore"):
        expected = elementwise(lambda x, t: 1 if float(x) >= float(t) else 0, left, threshold)
    for first, second in zip(layouts(left), layouts(threshold), strict=True):
        assert same(arithmetic.step(first, second), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_sign_operations_touch_the_sign_bit_alone(
    shape: tuple[int, ...], floating: np.dtype[Any], draw: Draw, layouts: Layouts, same: Same
) -> None:
    array = draw(floating, shape, 9)
    width = 8 * floating.itemsize
    bits = [int(pattern) for pattern in array.view(f"u{floating.itemsize}").reshape(-1)]
    negated = np.array([pattern ^ 1 << (width - 1) for pattern in bits], f"u{floating.itemsize}")
    magnitude = np.array([pattern % (1 << (width - 1)) for pattern in bits], negated.dtype)
    for view in layouts(array):
        assert same(arithmetic.negate(view), negated.view(floating).reshape(shape))
        assert same(arithmetic.absolute(view), magnitude.view(floating).reshape(shape))


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    half = 1 << (8 * dtype.itemsize - 1)
    return (value + half) % (2 * half) - half


@pytest.mark.parametrize("shape", SHAPES)
def test_integers_wrap(
    shape: tuple[int, ...], integral: np.dtype[Any], draw: Draw, layouts: Layouts, same: Same
) -> None:
    binary: dict[str, Callable[[int, int], int]] = {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "maximum": max,
        "minimum": min,
        "step": lambda x, y: int(x >= y),
        "negate": lambda x, _: -x,
        "absolute": lambda x, _: abs(x),
    }
    left, right = draw(integral, shape, 1), draw(integral, shape, 2)
    for name, function in binary.items():
        values = [
            wrapped(function(int(x), int(y)), integral)
            for x, y in zip(left.reshape(-1), right.reshape(-1), strict=True)
        ]
        expected = np.array(values, integral).reshape(shape)
        for first, second in zip(layouts(left), layouts(right), strict=True):
            operands = (first,) if name in ("negate", "absolute") else (first, second)
            assert same(getattr(arithmetic, name)(*operands), expected)


def test_extremes_of_truth_values_are_or_and_and(same: Same) -> None:
    left, right = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert same(arithmetic.maximum(left, right), np.array([False, True, True, True]))
    assert same(arithmetic.minimum(left, right), np.array([False, False, False, True]))
