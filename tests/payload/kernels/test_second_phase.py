"""Refined brackets hold the exact result to about 2**-100 and decide all but midpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import mpfr
from topos.payload.kernels import exponential, logarithm, power_wide
from topos.payload.kernels.mapping import Enclosure, refine
from topos.payload.kernels.maps import MAPS

Array = npt.NDArray[Any]


# Where arguments are drawn from. MPFR's other maps round to the precision of the context too.
REACH: dict[str, tuple[float, float]] = {
    "exp": (-745.0, 709.0),
    "expm1": (-1.0, 3.0),
    "logistic": (-745.0, 30.0),
    "tanh": (-10.0, 10.0),
    "ln": (0.0, 3.0),
    "log1p": (-0.9, 3.0),
    "sin": (-1000.0, 1000.0),
    "cos": (-1000.0, 1000.0),
    "erf": (-5.0, 5.0),
}
every_map = pytest.mark.parametrize("name", REACH)


def open_lanes(bracket: Callable[..., tuple[Array, Array]], *arguments: Array) -> Array:
    with np.errstate(all="ignore"):
        low, high = bracket(*arguments)
    return np.flatnonzero(low != high)


def rounded(truth: Callable[[Any], Any], values: Array) -> Array:
    """Returns what the truth, known to 300 bits, rounds to, subnormal or not."""
    results = []
    for value in values.tolist():
        with gmpy2.context(precision=300):
            exact = truth(gmpy2.mpfr(value))
        with gmpy2.ieee(64):
            results.append(float(gmpy2.mul(exact, 1)))
    return np.array(results)


def misses(
    truth: Callable[[Any], Any], values: Array, enclosure: Enclosure, power: Array | int = 0
) -> Array:
    """Returns |exact result - head - tail| / error with 300 bits."""
    scales = np.broadcast_to(power, values.shape).tolist()
    rows = zip(values.tolist(), *(each.tolist() for each in enclosure), scales, strict=True)
    found = []
    with gmpy2.context(precision=300):
        for value, head, tail, error, scale in rows:
            exact = truth(gmpy2.mpfr(value)) / gmpy2.exp2(scale)
            found.append(float(abs((exact - head) - tail) / error))
    return np.array(found)


def spread(count: int, seed: int, reach: float, smallest: int) -> Array:
    """Returns evenly spread numbers, and numbers of every magnitude from 2**smallest on."""
    generator = np.random.default_rng(seed)
    scales = np.ldexp(generator.choice([-1.0, 1.0], count), generator.integers(smallest, 0, count))
    small = generator.uniform(1.0, 2.0, count) * scales
    return np.concatenate([generator.uniform(-reach, reach, count), small[np.abs(small) <= reach]])


@every_map
def test_lanes_of_the_first_phase_are_all_decided_by_the_second(name: str) -> None:
    truth, each = mpfr.MAPS[name], MAPS[name]
    values = np.random.default_rng(1).uniform(*REACH[name], 200_000)
    values = values[open_lanes(each.quick, values)]
    assert values.size >= 4
    low, high = each.refined(values)
    assert low.tobytes() == high.tobytes()
    assert low.tobytes() == rounded(truth, values).tobytes()


def test_lanes_of_a_power_are_all_decided_by_the_second() -> None:
    generator = np.random.default_rng(2)
    bases = generator.uniform(0.0, 8.0, 100_000)
    exponents = generator.uniform(-300.0, 300.0, 100_000)
    lanes = open_lanes(power_wide.bracket_power, bases, exponents)
    bases, exponents = bases[lanes], exponents[lanes]
    assert bases.size >= 50
    with np.errstate(all="ignore"):
        low, high = power_wide.refined_power(bases, exponents)
    assert low.tobytes() == high.tobytes()
    with gmpy2.ieee(64):
        pairs = zip(bases.tolist(), exponents.tolist(), strict=True)
        expected = np.array([float(gmpy2.mpfr(x) ** gmpy2.mpfr(y)) for x, y in pairs])
    assert low.tobytes() == expected.tobytes()


@every_map
def test_a_refined_bracket_alone_is_correctly_rounded(name: str) -> None:
    truth, each = mpfr.MAPS[name], MAPS[name]
    generator = np.random.default_rng(3)
    values = generator.uniform(*REACH[name], 1000)
    scales = np.ldexp(1.0, generator.integers(-25, 0, 1000))
    values = np.concatenate([values, values * scales])
    low, high = each.refined(values)
    assert low.tobytes() == high.tobytes()
    assert low.tobytes() == rounded(truth, values).tobytes()


def test_exponentials_of_a_sum_are_within_their_error() -> None:
    values = spread(2000, 5, 740.0, -20)
    rest = np.random.default_rng(6).uniform(-(2.0**-41), 2.0**-41, values.size)
    (head, tail), power = exponential.exponential_pair(values, rest)
    error = head * exponential.REFINED_EXPONENTIAL_ERROR
    with gmpy2.context(precision=300):
        sums = dict(zip(values.tolist(), rest.tolist(), strict=True))
        found = misses(
            lambda x: gmpy2.exp(x + sums[float(x)]), values, Enclosure(head, tail, error), power
        )
    assert found.max() <= 0.8


def test_exponentials_less_one_are_within_their_error() -> None:
    values = spread(3000, 7, 45.0, -50)
    enclosure, power = exponential.expm1_pair(values)
    assert misses(gmpy2.expm1, values, enclosure, power).max() <= 0.8
    # Near zero, where the difference cancels, the error stays small to the result.
    small = np.abs(values) < 0.1
    assert np.all(enclosure.error[small] <= 2.0**-89 * np.abs(enclosure.head[small]))


def test_logarithms_are_within_their_error() -> None:
    generator = np.random.default_rng(8)
    exponents = generator.integers(-1022, 1024, 3000)
    wide = np.ldexp(generator.uniform(1.0, 2.0, 3000), exponents)
    near_one = 1.0 + spread(3000, 9, 0.75, -50)
    values = np.concatenate([wide, near_one[near_one != 1.0]])
    head, tail = logarithm.logarithm_pair(values, None, 0)
    error = np.abs(head) * logarithm.REFINED_LOGARITHM_ERROR
    assert misses(gmpy2.log, values, Enclosure(head, tail, error)).max() <= 0.8


def test_logarithms_of_subnormal_numbers_are_within_their_error() -> None:
    values = np.random.default_rng(16).integers(1, 1 << 52, 2000).view(np.float64)
    argument, lift = logarithm.raised_subnormals(values)
    head, tail = logarithm.logarithm_pair(argument, None, lift)
    error = np.abs(head) * logarithm.REFINED_LOGARITHM_ERROR
    assert misses(gmpy2.log, values, Enclosure(head, tail, error)).max() <= 0.8


def test_logarithms_of_one_and_a_number_are_within_their_error() -> None:
    values = np.maximum(spread(4000, 10, 40.0, -54), -1.0 + 2.0**-30)
    total = 1.0 + values
    rest = values - (total - 1.0)
    rest = np.where(np.abs(values) > 1.0, 1.0 - (total - values), rest)
    head, tail = logarithm.logarithm_pair(total, rest, 0)
    error = np.abs(head) * logarithm.REFINED_LOGARITHM_ERROR
    assert misses(gmpy2.log1p, values, Enclosure(head, tail, error)).max() <= 0.8


def test_what_the_second_phase_leaves_open_is_returned_untouched() -> None:
    # e**(2**-53) is 2**-107 above a midpoint, e**0.5 far from one.
    values = np.array([0.5, 2.0**-53] * 10)
    result = np.full(20, -1.0)
    left = refine(exponential.refined_exp, (values,), result, np.arange(20))
    assert left.tolist() == list(range(1, 20, 2))
    assert result[::2].tobytes() == rounded(gmpy2.exp, values[::2]).tobytes()


def test_logistics_that_are_all_but_midpoints_are_decided_near_zero() -> None:
    # Odd multiples of half a unit of the result, powers of two, and their neighbours.
    halves = np.ldexp(np.arange(1.0, 2.0**22, 4098.0), -53)
    near = np.concatenate([halves, np.ldexp(1.0, np.arange(-62, -25))])
    values = np.concatenate([near, np.nextafter(near, 0.0), np.nextafter(near, 1.0)])
    values = np.concatenate([values, -values])
    low, high = exponential.refined_logistic(values)
    assert low.tobytes() == high.tobytes()
    assert low.tobytes() == rounded(mpfr.MAPS["logistic"], values).tobytes()


def test_few_lanes_skip_the_second_phase() -> None:
    def never(_: Array) -> tuple[Array, Array]:
        raise AssertionError

    result = np.zeros(3)
    assert refine(never, (np.ones(3),), result, np.arange(3)).tolist() == [0, 1, 2]
