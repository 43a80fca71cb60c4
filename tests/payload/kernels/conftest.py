"""Adversarial arrays, and exact rounding, for the tests of the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]

FLOATS = tuple(np.dtype(kind) for kind in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16))
# Significant bits, least and greatest exponent of a normal number.
SHAPES = dict(
    zip(FLOATS, ((53, -1022, 1023), (24, -126, 127), (11, -14, 15), (8, -126, 127)), strict=True)
)


def _specials(dtype: np.dtype[Any]) -> Array:
    precision = SHAPES[dtype][0]
    width = 8 * dtype.itemsize
    one_ulp, infinity = 1 << (precision - 1), (1 << (width - 1)) - (1 << (precision - 1))
    positive = [
        0,
        1,
        one_ulp - 1,
        one_ulp,
        one_ulp + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + one_ulp // 2,
        infinity + one_ulp // 2 + 3,
        infinity // one_ulp // 2 * one_ulp,
        infinity // one_ulp // 2 * one_ulp + 1,
    ]
    patterns = [*positive, *(pattern | 1 << (width - 1) for pattern in positive)]
    return np.array(patterns, f"u{dtype.itemsize}").view(dtype)


def _floats(dtype: np.dtype[Any], count: int, seed: int, tame: bool) -> Array:
    generator = np.random.default_rng(seed)
    scales = generator.integers(-4, 5, count)
    with np.errstate(all="ignore"):
        # All 53 bits are in use, so that sums and products round.
        wide = generator.integers(-(1 << 53), 1 << 53, count).astype(np.float64)
        numbers = np.ldexp(wide, scales - 51).astype(dtype)
    if tame:
        return numbers
    patterns = generator.integers(0, 1 << 8 * dtype.itemsize, count, f"u{dtype.itemsize}")
    specials = generator.choice(_specials(dtype).view(patterns.dtype), count)
    kind = generator.integers(0, 3, count)
    return np.choose(kind, [numbers.view(patterns.dtype), patterns, specials]).view(dtype)


def _draw(dtype: Any, shape: tuple[int, ...], seed: int, tame: bool = False) -> Array:
    dtype, count = np.dtype(dtype), math.prod(shape)
    if dtype in FLOATS:
        return _floats(dtype, count, seed, tame).reshape(shape)
    generator = np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(np.bool_)
    limits = np.iinfo(dtype)
    wide = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = generator.choice(np.array([limits.min, limits.max, 0, -1, 1], dtype), shape)
    shifted = wide >> generator.integers(0, 8 * dtype.itemsize, shape).astype(dtype)
    return np.where(generator.integers(0, 3, shape) == 0, ends, shifted).astype(dtype)


def _layouts(array: Array) -> list[Array]:
    turned = (slice(None, None, -1),) * array.ndim
    apart = (slice(1, None, 2),) * array.ndim
    spacious = np.zeros(tuple(2 * extent + 1 for extent in array.shape), array.dtype)
    spacious[apart] = array
    views: list[Array] = [
        np.array(array, order="C"),
        np.array(array, order="F"),
        np.array(array[turned], order="C")[turned],
        spacious[apart],
    ]
    for view in views:
        # A kernel that writes its argument then raises.
        if isinstance(view, np.ndarray):
            view.flags.writeable = False
    return views


def _nearest(value: Fraction, dtype: Any) -> Any:
    precision, least, greatest = SHAPES[np.dtype(dtype)]
    magnitude = abs(value)
    if magnitude == 0:
        return np.dtype(dtype).type(0)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    scale = max(exponent, least) - precision + 1
    steps = round(magnitude / Fraction(2) ** scale)
    if steps * Fraction(2) ** scale >= Fraction(2) ** (greatest + 1):
        rounded = math.inf
    else:
        rounded = math.ldexp(steps, scale)
    return np.float64(rounded if value > 0 else -rounded).astype(dtype)


def _same(result: Any, expected: Any) -> bool:
    wanted = np.asarray(expected)
    return (
        isinstance(result, np.ndarray)
        and result.dtype == wanted.dtype
        and result.shape == wanted.shape
        and result.tobytes() == wanted.tobytes()
    )


@pytest.fixture(params=FLOATS, ids=lambda dtype: str(dtype.name))
def floating(request: pytest.FixtureRequest) -> np.dtype[Any]:
    """Each floating dtype in turn."""
    dtype: np.dtype[Any] = request.param
    return dtype


@pytest.fixture(params=(np.int64, np.int32), ids=("int64", "int32"))
def integral(request: pytest.FixtureRequest) -> np.dtype[Any]:
    """Each integer dtype in turn."""
    dtype: np.dtype[Any] = np.dtype(request.param)
    return dtype


@pytest.fixture
def draw() -> Callable[..., Array]:
    """`draw(dtype, shape, seed, tame=False)`: numbers of all kinds, or no specials."""
    return _draw


@pytest.fixture
def layouts() -> Callable[[Array], list[Array]]:
    """`layouts(array)`: the same elements in memory orders of all kinds, read-only."""
    return _layouts


@pytest.fixture
def specials() -> Callable[[np.dtype[Any]], Array]:
    """`specials(dtype)`: zeros, subnormals, ends, infinities and NaNs of both signs."""
    return _specials


@pytest.fixture
def nearest() -> Callable[[Fraction, Any], Any]:
    """`nearest(value, dtype)`: a rational rounded to nearest, ties to even, by its definition."""
    return _nearest


@pytest.fixture
def same() -> Callable[[Any, Any], bool]:
    """`same(result, expected)`: an array of the same dtype, shape and bytes."""
    return _same
