"""Power equals MPFR's correctly rounded power, to the bit, in every format."""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import inputs, mpfr
from topos.payload.kernels.power import power

Array = npt.NDArray[Any]

F64, F32, F16, BF16 = mpfr.FLOATS
COUNT = 60_000
# One exponent in all lanes may take a way of its own, as the square does.
CONSTANTS = (2.0, 3.0, 0.5, -1.0, -0.5, 0.3125)


def disagreements(bases: Array, exponents: Array) -> list[tuple[str, ...]]:
    """Returns the first pairs whose results differ, in hexadecimal, and both results."""
    result, expected = power(bases, exponents), mpfr.raised(bases, exponents)
    lanes = np.flatnonzero(mpfr.bits(result) != mpfr.bits(expected))[:5]
    columns = (mpfr.bits(column)[lanes] for column in (bases, exponents, result, expected))
    return [tuple(map(hex, row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("dtype", mpfr.FLOATS, ids=str)
def test_pairs_of_every_stratum_are_correctly_rounded(dtype: np.dtype[Any]) -> None:
    bases, exponents = inputs.power_pairs(dtype, COUNT, 1)
    assert bases.size >= 55_000
    assert disagreements(bases, exponents) == []


@pytest.mark.parametrize("exponent", CONSTANTS)
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_16_bit_base_is_correctly_rounded(dtype: np.dtype[Any], exponent: float) -> None:
    bases = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    assert disagreements(bases, np.full(bases.shape, exponent, dtype)) == []


@pytest.mark.parametrize("base", [0.75, -2.0, 1.0078125, 10.0])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_16_bit_exponent_is_correctly_rounded(dtype: np.dtype[Any], base: float) -> None:
    exponents = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    assert disagreements(np.full(exponents.shape, base, dtype), exponents) == []


@pytest.mark.parametrize("exponent", CONSTANTS)
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_one_exponent_for_all_is_correctly_rounded(dtype: np.dtype[Any], exponent: float) -> None:
    bases, _ = inputs.power_pairs(dtype, 12_000, 4)
    assert disagreements(bases, np.full(bases.shape, exponent, dtype)) == []


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_exact_powers_and_midpoints_are_correctly_rounded(dtype: np.dtype[Any]) -> None:
    # The squares of 17, 49, 4097 and 2**27 - 1 are midpoints of some format.
    wholes = [*range(1, 300), *range(4097, 4197, 2), *(2**27 - 1 - 2 * step for step in range(50))]
    small = [-3.0, -2.0, -1.0, -0.5, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 4.0, 5.0, 9.0]
    bases, exponents = np.meshgrid(np.array(wholes, dtype), np.array(small, dtype))
    for grid in (bases, bases * bases):
        assert disagreements(grid.reshape(-1), exponents.reshape(-1)) == []


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_the_strata_hold_midpoints(dtype: np.dtype[Any]) -> None:
    bases, exponents = inputs.power_pairs(dtype, COUNT, 1)
    with np.errstate(all="ignore"):
        whole = (np.rint(exponents) == exponents) & (exponents > 1) & (exponents <= 9)
        whole &= (np.rint(bases) == bases) & (np.abs(bases) > 1) & np.isfinite(bases)
    lanes = np.flatnonzero(whole)[:20_000]
    precision = 53 if dtype == F64 else 24
    midpoints = 0
    for base, exponent in zip(bases[lanes].tolist(), exponents[lanes].tolist(), strict=True):
        result = gmpy2.mpz(base) ** int(exponent)
        odd = result >> gmpy2.bit_scan1(result)
        midpoints += abs(odd).bit_length() == precision + 1
    assert midpoints >= 400
