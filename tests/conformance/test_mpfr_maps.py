"""Maps equal MPFR's correctly rounded functions, to the bit, in every format."""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import enclosures, inputs, mpfr
from tests.conformance.hard_cases import HARD_CASES
from topos.payload.kernels import maps

Array = npt.NDArray[Any]

F64, F32, F16, BF16 = mpfr.FLOATS
# Some are outside the domain of a map.
COUNT = 80_000
every_map = pytest.mark.parametrize("name", mpfr.MAPS)


def disagreements(name: str, values: Array) -> list[tuple[str, ...]]:
    """Returns the first arguments whose results differ, in hexadecimal, and both results."""
    result, expected = getattr(maps, name)(values), mpfr.mapped(name, values)
    lanes = np.flatnonzero(mpfr.bits(result) != mpfr.bits(expected))[:5]
    columns = (mpfr.bits(column)[lanes] for column in (values, result, expected))
    return [tuple(map(hex, row)) for row in zip(*columns, strict=True)]


@every_map
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_16_bit_number_is_correctly_rounded(name: str, dtype: np.dtype[Any]) -> None:
    assert disagreements(name, np.arange(1 << 16, dtype=np.uint16).view(dtype)) == []


@every_map
@pytest.mark.parametrize(("dtype", "seed"), [(F32, 1), (F64, 2)], ids=str)
def test_numbers_of_every_stratum_are_correctly_rounded(
    name: str, dtype: np.dtype[Any], seed: int
) -> None:
    values = inputs.arguments(name, dtype, COUNT, seed)
    assert values.size == COUNT
    assert disagreements(name, values) == []


@pytest.mark.parametrize("name", ["exp", "expm1", "ln", "log1p", "tanh", "erf", "logistic", "sin"])
def test_numbers_next_to_a_midpoint_are_correctly_rounded(name: str) -> None:
    # Where a map is c + x + ..., powers of two and their neighbours make almost exact midpoints.
    for dtype, last in ((F64, 70), (F32, 40)):
        powers = np.ldexp(1.0, np.arange(-last, -8)).astype(dtype)
        multiples = (powers[:, None] * np.arange(1, 12).astype(dtype)).reshape(-1)
        near = np.concatenate([multiples, np.nextafter(multiples, dtype.type(0)), -multiples])
        assert disagreements(name, 1 + near if name == "ln" else near) == []


@pytest.mark.parametrize("name", HARD_CASES)
def test_hard_cases_lie_within_2_to_the_minus_40_of_a_midpoint(name: str) -> None:
    with gmpy2.context(precision=1300):
        for argument in HARD_CASES[name]:
            result = abs(mpfr.MAPS[name](gmpy2.mpfr(argument)))
            units = result / gmpy2.exp2(gmpy2.floor(gmpy2.log2(result)) - 52)
            assert 0 < abs(units - gmpy2.floor(units) - 0.5) < 2.0**-40


OPEN = {
    "exp": (-20.0, 20.0),
    "expm1": (-1.0, 1.0),
    "ln": (0.0, 8.0),
    "log1p": (-0.9, 8.0),
    "tanh": (-4.0, 4.0),
    "logistic": (-20.0, 20.0),
    "sin": (-8.0, 8.0),
    "cos": (-8.0, 8.0),
    "erf": (-3.0, 3.0),
}


@pytest.mark.parametrize("name", OPEN)
def test_lanes_that_a_bracket_leaves_open_are_correctly_rounded(name: str) -> None:
    values = np.random.default_rng(3).uniform(*OPEN[name], 400_000)
    low, high = enclosures.BRACKETS[name](values)
    hard = values[low != high]
    assert 4 <= hard.size < 8000
    assert disagreements(name, hard) == []


@every_map
def test_the_exhaustive_comparison_agrees_with_mpfr_on_a_sample(name: str) -> None:
    # The stride is odd, so that the last bits vary; tools/exhaustive.py takes every pattern.
    values = np.array(range(0, 1 << 32, 160_001), np.uint32).view(np.float32)
    result, decided = enclosures.enclosed(name, values)
    assert np.count_nonzero(~decided) <= 2
    assert result[decided].tobytes() == mpfr.mapped(name, values[decided]).tobytes()
