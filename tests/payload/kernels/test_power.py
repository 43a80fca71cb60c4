"""Power keeps special cases, shapes and flags; tests/conformance has its roundings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import mpfr
from tests.conformance.mpfr import bits
from topos.errors import ElementError
from topos.payload.kernels.power import power, power_at
from topos.payload.kernels.power_wide import bracket_power
from topos.payload.kernels.rounding import BINARY64, nearest

Array = npt.NDArray[Any]
Same = Callable[[Any, Any], bool]
Layouts = Callable[[Array], list[Array]]

QUIET = mpfr.QUIET
INFINITY, NAN = math.inf, math.nan


# The special cases of pow in IEEE 754-2019 clause 9.2.1, which are those of C99 F.9.4.4.
SPECIALS = [
    *[(base, zero, 1.0) for base in (0.0, INFINITY, NAN, -3.0) for zero in (0.0, -0.0)],
    *[(1.0, exponent, 1.0) for exponent in (NAN, INFINITY, -INFINITY, 0.5)],
    (-1.0, INFINITY, 1.0),
    (-1.0, -INFINITY, 1.0),
    (0.0, -3.0, INFINITY),
    (-0.0, -3.0, -INFINITY),
    (-0.0, -2.0, INFINITY),
    (-0.0, -0.5, INFINITY),
    (-0.0, -INFINITY, INFINITY),
    (0.0, 3.0, 0.0),
    (-0.0, 3.0, -0.0),
    (-0.0, 2.0, 0.0),
    (-0.0, 0.5, 0.0),
    (0.5, INFINITY, 0.0),
    (0.5, -INFINITY, INFINITY),
    (-2.0, INFINITY, INFINITY),
    (-2.0, -INFINITY, 0.0),
    (INFINITY, 0.5, INFINITY),
    (INFINITY, -0.5, 0.0),
    (-INFINITY, 3.0, -INFINITY),
    (-INFINITY, 2.0, INFINITY),
    (-INFINITY, 0.5, INFINITY),
    (-INFINITY, -3.0, -0.0),
    (-INFINITY, -2.0, 0.0),
    (-2.0, 3.0, -8.0),
    (-2.0, 2.0, 4.0),
    (-2.0, -1.0, -0.5),
]
INVALID = [(-2.0, 0.5), (-0.5, -1.5), (NAN, 2.0), (2.0, NAN), (NAN, NAN), (-1.0, NAN), (NAN, 1.0)]


def test_special_cases_are_those_of_the_standard(floating: np.dtype[Any], same: Same) -> None:
    base, exponent, expected = (
        np.array(column, floating) for column in zip(*SPECIALS, strict=True)
    )
    assert same(power(base, exponent), expected)
    left, right = (np.array(column, floating) for column in zip(*INVALID, strict=True))
    assert bits(power(left, right)).tolist() == [QUIET[floating]] * len(INVALID)


def test_a_signalling_nan_to_the_zeroth_is_one(floating: np.dtype[Any], same: Same) -> None:
    signalling = np.array([QUIET[floating] - 1], f"u{floating.itemsize}").view(floating)
    one, zero = np.ones(1, floating), np.zeros(1, floating)
    assert same(power(signalling, zero), one)
    assert same(power(one, signalling), one)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5, 7)])
def test_shape_and_strides_do_not_matter(
    shape: tuple[int, ...], floating: np.dtype[Any], layouts: Layouts, same: Same
) -> None:
    generator = np.random.default_rng(2)
    base = np.asarray(generator.uniform(0.1, 3.0, shape)).astype(floating).reshape(shape)
    exponent = np.asarray(generator.uniform(-3.0, 3.0, shape)).astype(floating).reshape(shape)
    expected = mpfr.raised(base.reshape(-1), exponent.reshape(-1)).reshape(shape)
    for first in layouts(base):
        for second in layouts(exponent):
            result = power(first, second)
            assert same(result, expected)
            assert result.flags.c_contiguous
            assert result.flags.writeable


def test_operands_broadcast(same: Same) -> None:
    base, exponent = np.array([[2.0], [3.0]]), np.array([0.0, 1.0, 2.0])
    assert same(power(base, exponent), np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]))
    assert same(power(np.float32(3.0), np.float32(2.0)), np.array(9.0, np.float32))


def test_no_flag_of_the_caller_is_raised(floating: np.dtype[Any]) -> None:
    numbers = np.array([-np.inf, -1e4, -1.5, -0.0, 0.0, 1e-7, 1e4, np.inf, np.nan])
    with np.errstate(all="ignore"):
        pairs = np.meshgrid(numbers.astype(floating), numbers.astype(floating))
    with np.errstate(all="raise"):
        power(*pairs)


def test_other_and_unequal_elements_are_refused() -> None:
    with pytest.raises(ElementError, match=r"^power needs .* twice, got int64 and int64$"):
        power(np.ones(2, np.int64), np.ones(2, np.int64))
    with pytest.raises(ElementError, match=r"^power needs .* twice, got float64 and float32$"):
        power(np.ones(2), np.ones(2, np.float32))


def test_a_constant_tensor_of_a_midpoint_rounds_like_one_element(same: Same) -> None:
    base, exponent = np.full(100_000, 2.0**27 - 1.0), np.full(100_000, 2.0)
    low, high = bracket_power(base[:1], exponent[:1])
    assert low != high
    expected = nearest((2**27 - 1) ** 2, 0, BINARY64)
    assert same(power(base, exponent), np.full(100_000, expected))
    assert power_at(2.0**27 - 1.0, 2.0, BINARY64) == expected
