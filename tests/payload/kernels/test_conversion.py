"""A conversion rounds the exact number once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels.conversion import convert

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]
Nearest = Callable[[Fraction, Any], Any]

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "bool"]
INTEGERS = ["int64", "int32"]


def number(element: Any) -> float | int:
    return int(element) if element.dtype.kind in "ib" else float(element)


def converted(element: Any, dtype: np.dtype[Any], nearest: Nearest) -> Any:
    value = number(element)
    if dtype == np.bool_:
        return value != 0
    if dtype.name in INTEGERS:
        return to_integer(value, dtype, saturating=element.dtype.kind not in "ib")
    if math.isnan(value):
        return dtype.type(np.nan)
    if math.isinf(value) or value == 0:
        return dtype.type(value)
    return nearest(Fraction(value), dtype)


def to_integer(value: float | int, dtype: np.dtype[Any], saturating: bool) -> int:
    limits = np.iinfo(dtype)
    if not saturating:
        return (int(value) - int(limits.min)) % (1 << 8 * dtype.itemsize) + int(limits.min)
    if math.isnan(value):
        return 0
    low, high = int(limits.min), int(limits.max)
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, math.trunc(value)))


def expected_array(array: Array, dtype: np.dtype[Any], nearest: Nearest) -> Array:
    result = np.empty(array.size, dtype)
    with np.errstate(all="ignore"):
        for i, element in enumerate(array.reshape(-1)):
            result[i] = converted(element, dtype, nearest)
    return result.reshape(array.shape)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (13, 17)])
@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_conversion_rounds_once(
    source: str,
    target: str,
    shape: tuple[int, ...],
    draw: Draw,
    layouts: Layouts,
    same: Same,
    nearest: Nearest,
) -> None:
    array = draw(source, shape, 11)
    # What has the dtype already keeps its bits, those of a NaN too.
    own = source == target
    expected = array if own else expected_array(array, np.dtype(target), nearest)
    for view in layouts(array):
        assert same(convert(view, target), expected)


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["float64", "int64", "int32", "float32"])
def test_numbers_near_midpoints_round_once(
    source: str, target: str, draw: Draw, same: Same, nearest: Nearest
) -> None:
    # Midpoints between neighbours of the target, and the numbers of the source beside them.
    bits = np.dtype(target).itemsize * 8
    low = np.random.default_rng(1).integers(0, 1 << bits - 1, 400).astype(f"u{bits // 8}")
    with np.errstate(all="ignore"):
        ends = (
            pattern.view(target).astype(np.float64) for pattern in (low, low + low.dtype.type(1))
        )
        middle = sum(ends, np.zeros(400)) / 2
    middle = middle[np.isfinite(middle)]
    if source.startswith("int"):
        middle = middle[(middle >= 1) & (middle < 2.0 ** (8 * np.dtype(source).itemsize - 1))]
        near = middle.astype(source)
        # Python integers, so that the end of the range does not wrap.
        near = np.concatenate([near - 1, near, near + (near < np.iinfo(source).max), -near])
    else:
        near = middle.astype(source)
        near = np.concatenate(
            [np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf), -near]
        ).astype(source)
    assert same(convert(near, target), expected_array(near, np.dtype(target), nearest))


def test_double_rounding_is_avoided(same: Same) -> None:
    # Just above the middle of 1 and its bfloat16 neighbour; a float32 would lie on the middle.
    assert float(convert(np.array(1 + 2.0**-8 + 2.0**-40), "bfloat16")) == 1.0078125
    # The same for an integer that float64 rounds onto the middle.
    wide = np.array([(1 << 62) + (1 << 54) + 1, -(1 << 62) - (1 << 54) - 1])
    expected = np.array([2.0**62 * 1.0078125, -(2.0**62) * 1.0078125])
    assert same(convert(wide, "bfloat16").astype(np.float64), expected)


@pytest.mark.parametrize("target", INTEGERS)
def test_floats_beside_the_ends_of_integers_saturate(
    target: str, same: Same, nearest: Nearest
) -> None:
    end = 2.0 ** (8 * np.dtype(target).itemsize - 1)
    edges = [end, -end, np.nextafter(end, 0), np.nextafter(-end, 0), np.nextafter(end, np.inf)]
    array = np.array([*edges, end - 0.5, -end - 0.5, end - 1.5, 0.9, -0.9, np.nan, np.inf, -np.inf])
    assert same(convert(array, target), expected_array(array, np.dtype(target), nearest))


def test_every_float16_and_bfloat16_survives_float32(same: Same) -> None:
    for dtype in ("float16", "bfloat16"):
        every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
        with np.errstate(all="ignore"):
            quiet = np.where(np.isnan(every), np.array(np.nan, dtype), every)
        assert same(convert(convert(every, "float32"), dtype), quiet)
        assert same(convert(convert(every, "float64"), dtype), quiet)


def test_conversion_to_the_same_float_does_not_share_memory(floating: np.dtype[Any]) -> None:
    array = np.zeros(3, floating)
    assert not np.shares_memory(convert(array, floating), array)
