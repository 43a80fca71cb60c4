"""Quick brackets decide almost every float64 number, subnormal, huge and tiny ones too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import mpfr
from topos.payload.kernels import (
    circular,
    exact,
    expansion,
    mapping,
    maps,
    power_wide,
)
from topos.payload.kernels.rounding import BINARY64, nearest

Array = npt.NDArray[Any]

COUNT = 1500
GENERATOR = np.random.default_rng(1)
SUBNORMALS = GENERATOR.integers(1, 1 << 52, COUNT).view(np.float64)
SMALLEST = np.ldexp(1.0, np.arange(-1074, -1000))
HUGE = np.ldexp(GENERATOR.uniform(-2.0, 2.0, COUNT), GENERATOR.integers(18, 1023, COUNT))
TINY = np.ldexp(GENERATOR.uniform(-2.0, 2.0, COUNT), GENERATOR.integers(-1074, -900, COUNT))
SINKING = GENERATOR.uniform(-746.0, -706.0, COUNT)


def powers(bases: Array, exponents: Array) -> Array:
    pairs = zip(bases.tolist(), exponents.tolist(), strict=True)
    with gmpy2.ieee(64):
        return np.array([float(gmpy2.mpfr(x) ** gmpy2.mpfr(y)) for x, y in pairs])


RANGES: dict[str, Array] = {
    "exp": SINKING,
    "logistic": SINKING,
    "ln": np.concatenate([SUBNORMALS, SMALLEST]),
    "sin": HUGE,
    "cos": HUGE,
    "erf": np.concatenate([TINY, SMALLEST, -SMALLEST]),
}


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_the_range_are_decided_and_correctly_rounded(name: str) -> None:
    values = RANGES[name]
    with np.errstate(all="ignore"):
        low, high = maps.MAPS[name].quick(values)
    closed = low == high
    assert np.count_nonzero(~closed) <= values.size // 500
    expected = mpfr.mapped(name, values)
    assert low[closed].tobytes() == expected[closed].tobytes()
    assert np.all((low <= expected) & (expected <= high))


def test_subnormal_powers_and_bases_are_decided_and_correctly_rounded() -> None:
    bases = np.concatenate([GENERATOR.uniform(1.1, 9.0, COUNT), SUBNORMALS])
    sinking = SINKING / np.log2(np.e) / np.log(bases[:COUNT])
    exponents = np.concatenate([sinking * 1.44, GENERATOR.uniform(-1.0, 1.0, COUNT)])
    with np.errstate(all="ignore"):
        low, high = power_wide.bracket_power(bases, exponents)
    closed = low == high
    # The error of the logarithm counts 700 times.
    assert np.count_nonzero(~closed) <= bases.size // 50
    expected = powers(bases, exponents)
    assert np.count_nonzero(expected < 2.0**-1022) >= COUNT // 4
    assert low[closed].tobytes() == expected[closed].tobytes()


def test_steep_powers_of_numbers_next_to_one_are_decided_and_correctly_rounded() -> None:
    near_one = 1.0 + np.ldexp(np.arange(-64.0, 65.0), -53)
    bases = np.repeat(near_one, 30)
    exponents = np.ldexp(
        GENERATOR.uniform(-1.0, 1.0, bases.size), GENERATOR.integers(40, 64, bases.size)
    )
    with np.errstate(all="ignore"):
        low, high = power_wide.bracket_power(bases, exponents)
    closed = low == high
    assert np.count_nonzero(~closed) <= bases.size // 50
    assert low[closed].tobytes() == powers(bases, exponents)[closed].tobytes()


@pytest.mark.parametrize(("name", "turn"), [("sin", 0), ("cos", 128)])
def test_far_enclosures_hold_the_exact_result(name: str, turn: int) -> None:
    values = np.append(HUGE, 6381956970095103.0 * 2.0**797)
    head, tail, error = circular.far_circular(values, turn)
    truth = mpfr.MAPS[name]
    rows = zip(*(each.tolist() for each in (values, head, tail, error)), strict=True)
    with gmpy2.context(precision=300):
        for value, high, low, bound in rows:
            assert abs((truth(gmpy2.mpfr(value)) - high) - low) <= 0.8 * bound


def test_scaled_ends_hold_the_rounded_number_and_rarely_differ() -> None:
    generator = np.random.default_rng(2)
    heads = generator.uniform(1.0, 2.0, COUNT)
    # Every other head is a midpoint of two subnormals, but for its tail.
    power = generator.integers(-1080, -1018, COUNT)
    quantum = np.ldexp(1.0, -1074 - power)
    midpoints = (np.floor(heads / quantum) + 0.5) * quantum
    heads[::2] = midpoints[::2]
    tails = np.ldexp(generator.uniform(-1.0, 1.0, COUNT), generator.integers(-101, -53, COUNT))
    low, high = mapping.scaled_ends(mapping.Enclosure(heads, tails, heads * 2.0**-103), power)
    expected = []
    for head, tail, exponent in zip(heads.tolist(), tails.tolist(), power.tolist(), strict=True):
        number = Fraction(head) + Fraction(tail)
        integer = int(number * 2**200)
        expected.append(nearest(integer, exponent - 200, BINARY64))
    assert np.all((low <= expected) & (expected <= high))
    # A tail decides a midpoint from 2**-50 of the quantum on.
    assert np.all(
        np.abs(tails[low != high]) <= np.maximum(2.0**-101, quantum[low != high] * 2.0**-50)
    )


def test_scaled_ends_open_at_a_midpoint_of_subnormal_numbers() -> None:
    power = np.array([-1023, -1030, -1060, -1074])
    half = np.ldexp(0.5, -1074 - power)
    heads = half * np.array([2**52 + 1, 2**44 + 1, 2**14 + 1, 1])
    enclosure = mapping.Enclosure(heads, np.zeros(4), heads * 2.0**-100)
    low, high = mapping.scaled_ends(enclosure, power)
    steps = high.view(np.int64) - low.view(np.int64)
    assert steps.tolist() == [1, 1, 1, 1]


def test_scaled_ends_overflow_as_they_round() -> None:
    heads = np.array([2.0 - 2.0**-52, 2.0 - 2.0**-52, 1.0])
    tails = np.array([0.0, 2.0**-53, 0.0])
    enclosure = mapping.Enclosure(heads, tails * 0.999, heads * 2.0**-90)
    low, high = mapping.scaled_ends(enclosure, np.array([1023, 1023, -1022]))
    largest = np.finfo(np.float64).max
    assert low.tolist() == [largest, largest, 2.0**-1022]
    assert high.tolist() == low.tolist()
    enclosure = mapping.Enclosure(heads, tails * 1.001, heads * 2.0**-90)
    with np.errstate(over="ignore"):
        low, _ = mapping.scaled_ends(enclosure, np.array([1023, 1023, 1024]))
    assert low.tolist() == [largest, np.inf, np.inf]


def test_only_what_both_phases_leave_open_is_computed_exactly() -> None:
    asked: list[tuple[int, int]] = []

    def enclose(integer: int, exponent: int, places: int) -> tuple[int, int]:
        asked.append((integer, exponent))
        return exact.EXP.enclose(integer, exponent, places)

    each = maps.MAPS["exp"]
    counted = each._replace(exact=replace(exact.EXP, enclose=enclose))
    values = np.random.default_rng(3).uniform(-8.0, 8.0, 100_000)
    low, high = each.quick(values)
    assert np.count_nonzero(low != high) >= 20
    result = mapping.mapped(counted, np.concatenate([values, np.full(1000, 2.0**-53)]))
    assert asked == [(1, -53)]
    assert result[-1000:].tolist() == [1.0 + 2.0**-52] * 1000


def test_the_error_function_of_small_numbers_is_decided_where_both_forms_hold() -> None:
    values = np.concatenate([np.ldexp(GENERATOR.uniform(1.0, 2.0, COUNT), -61), [0.0, -0.0]])
    low, high = expansion.small_erf(values)
    assert low.tobytes() == high.tobytes()
    general = expansion.refined_erf(values)
    assert low.tobytes() == general[0].tobytes() == general[1].tobytes()
