"""The interpreter's own maps equal MPFR's correctly rounded functions, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from tests.conformance import inputs, mpfr
from topos.payload.kernels import exact_curves
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.mapping import Map, mapped
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS
from topos.runtimes.interpreter.special import curves
from topos.runtimes.interpreter.special.angle import CBRT, atan2, hypot

Array = npt.NDArray[Any]

F64, F32, F16, BF16 = mpfr.FLOATS
COUNT: Final = 26_000
# A thirteenth of what the maps of the oracle are tried with in each stratum.
SHARE: Final = 13
CURVES: Final[dict[str, Map]] = {
    "acos": curves.ACOS,
    "acosh": curves.ACOSH,
    "asin": curves.ASIN,
    "asinh": curves.ASINH,
    "atan": curves.ATAN,
    "atanh": curves.ATANH,
    "cbrt": CBRT,
    "cosh": curves.COSH,
    "sinh": curves.SINH,
    "tan": curves.TAN,
}
# Of the maps with strata of their own, one whose arguments are about as large as the curve's.
LIKE: Final = {"cosh": "expm1", "sinh": "expm1", "tan": "sin"}


def arguments(name: str, dtype: np.dtype[Any]) -> Array:
    """Returns numbers of any size, about 1, and of any bits."""
    values = inputs.arguments(LIKE.get(name, "log1p"), dtype, COUNT, 5)[::SHARE]
    return np.concatenate([values, values - dtype.type(1)])


def expected(function: Callable[..., Any], *operands: Array) -> Array:
    with mpfr.CONTEXTS[operands[0].dtype].copy(), np.errstate(all="ignore"):
        numbers = [map(gmpy2.mpfr, each.astype(np.float64).tolist()) for each in operands]
        found = np.array([float(function(*each)) for each in zip(*numbers, strict=True)])
        return found.astype(operands[0].dtype)


def demand_equal(got: Array, wanted: Array) -> None:
    """Compares bits; every NaN is the canonical one."""
    undefined = np.isnan(wanted.astype(np.float64))
    mpfr.bits(wanted)[undefined] = mpfr.QUIET[wanted.dtype]
    lanes = np.flatnonzero(mpfr.bits(got) != mpfr.bits(wanted))
    assert [(got[lane], wanted[lane]) for lane in lanes[:5]] == []


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("dtype", mpfr.FLOATS, ids=str)
def test_a_curve_is_correctly_rounded(name: str, dtype: np.dtype[Any]) -> None:
    with np.errstate(all="ignore"):
        values = arguments(name, dtype)
    demand_equal(mapped(CURVES[name], values), expected(getattr(gmpy2, name), values))


@pytest.mark.parametrize("dtype", mpfr.FLOATS, ids=str)
def test_an_angle_is_correctly_rounded(dtype: np.dtype[Any]) -> None:
    with np.errstate(all="ignore"):
        y = arguments("atan", dtype)
    x = np.random.default_rng(6).permutation(y)
    demand_equal(atan2(y, x), expected(gmpy2.atan2, y, x))


def test_an_angle_next_to_a_midpoint_of_subnormal_numbers_is_below_it() -> None:
    # 3/2 of the least number is a midpoint, and the angle is a little less than the quotient.
    y, x = np.array([3 * 2.0**-149, -3 * 2.0**-149], np.float32), np.full(2, 2, np.float32)
    assert atan2(y, x).tolist() == [2.0**-149, -(2.0**-149)]


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_a_length_is_correctly_rounded(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(8)
    with np.errstate(all="ignore"):
        values = arguments("atan", dtype)
        others = np.concatenate([rng.permutation(values), values[::-1] * dtype.type(2.0**-27)])
        values = np.concatenate([values, values])
        # The hypotenuse of these is a midpoint: (p*p + q*q) has a bit more than float64.
        p, q = rng.integers(2**26, 2**26 + 2**24, 50), rng.integers(2**25, 2**26, 50)
        values = np.concatenate([values, (p * p - q * q).astype(dtype)])
        others = np.concatenate([others, (2 * p * q).astype(dtype)])
    got = hypot(values.astype(np.float64), others.astype(np.float64), FORMATS[dtype])
    demand_equal(got, expected(gmpy2.hypot, values, others))


@pytest.mark.parametrize("exact", [curve.exact for curve in CURVES.values()], ids=CURVES)
def test_integers_alone_round_correctly(exact: ExactMap) -> None:
    # Brackets decide all but a few lanes, so that the last resort needs a test of its own.
    with np.errstate(all="ignore"):
        values = arguments(exact.name, F64)[::20]
    wanted = expected(getattr(gmpy2, exact.name), values)
    demand_equal(exact.each(values, BINARY64), wanted)
    y, x = 1.5, -(2.0**-60)
    with gmpy2.ieee(32):
        assert exact_curves.angle_at(y, x, BINARY32) == float(gmpy2.atan2(y, x))
