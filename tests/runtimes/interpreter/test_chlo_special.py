"""The special functions of CHLO: erf and its kin, gamma, zeta and Bessel's, by MPFR and by sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np
import pytest

from tests.runtimes.interpreter.high_precision import Array, applied, differing, exactly
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.run import compiled

SHORT = [np.float32, np.float16, ml_dtypes.bfloat16]


def lgamma(x: Any) -> Any:
    return gmpy2.lgamma(x)[0]


def bessel_i1e(x: Any) -> Any:
    """Sums the series at 0, whose terms are of one sign."""
    total, term, index = gmpy2.mpfr(0), x / 2, 0
    while abs(term) > abs(total) * gmpy2.mpfr(2) ** -120:
        total += term
        index += 1
        term *= x * x / 4 / (index * (index + 1))
    return total * gmpy2.exp(-abs(x))


def erf_inv(x: Any) -> Any:
    """Solves erf t = x by Newton's method from where float64 bisects."""
    low, high = 0.0, 6.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gmpy2.erf(gmpy2.mpfr(middle)) < abs(x) else (low, middle)
    guess = gmpy2.mpfr(low)
    for _ in range(4):
        slope = 2 / gmpy2.sqrt(gmpy2.const_pi()) * gmpy2.exp(-guess * guess)
        guess -= (gmpy2.erf(guess) - abs(x)) / slope
    return guess if x > 0 else -guess


def zeta(s: Any, q: Any) -> Any:
    """Sums 120 terms and the integral of the rest, with four corrections of Euler's."""
    total = sum((q + n) ** -s for n in range(120)) if q > 0 else None
    if total is None:
        below = range(int(-q) + 1)
        return sum((q + n) ** -int(s) for n in below) + zeta(s, q + len(below))
    a = q + 120
    corrections = (
        s / (12 * a),
        -s * (s + 1) * (s + 2) / (720 * a**3),
        s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / (30240 * a**5),
        -s * (s + 1) * (s + 2) * (s + 3) * (s + 4) * (s + 5) * (s + 6) / (1209600 * a**7),
    )
    return total + a**-s * (a / (s - 1) + gmpy2.mpfr("0.5") + sum(corrections))


def polygamma(n: Any, x: Any) -> Any:
    return (-1) ** (int(n) + 1) * gmpy2.factorial(int(n)) * zeta(n + 1, x)


def spread(seed: int, low: float, high: float, count: int) -> Array:
    return np.asarray(10.0 ** np.random.default_rng(seed).uniform(low, high, count))


def uniform(seed: int, low: float, high: float, count: int) -> Array:
    return np.random.default_rng(seed).uniform(low, high, count)


GAMMA = np.concatenate(
    [
        uniform(1, 0, 25, 80),
        -uniform(2, 0, 40, 60),
        spread(3, -307, 300, 60),
        -spread(4, -300, 8, 40),
        [
            -(2.0**-60),
            -2.457024738220801,
            1 + 2.0**-52,
            1 - 2.0**-53,
            2 + 2.0**-51,
            2 - 2.0**-52,
            0.5,
            1.5,
            2.5,
            3,
            5e-324,
            2.5e305,
        ],
    ]
)
ERROR = np.concatenate(
    [uniform(5, -7, 27.3, 120), spread(6, -320, 0, 30), [3.5, -6.6, 26.54, 27.2, 30, 0.0]]
)
UNIT = np.concatenate(
    [
        uniform(7, -1, 1, 40),
        1 - spread(8, -15, -1, 20),
        spread(9, -300, 0, 12),
        1 - np.arange(1, 25) * 2.0**-53,
        [0.5],
    ]
)
BESSEL = np.concatenate([uniform(10, -50, 50, 24), spread(11, -300, 0, 8), [30.0, 29.999, 1e-310]])
UNARY: dict[str, tuple[Callable[[Any], Any], Array]] = {
    "bessel_i1e": (bessel_i1e, BESSEL),
    "digamma": (gmpy2.digamma, GAMMA),
    "erf_inv": (erf_inv, UNIT),
    "erfc": (gmpy2.erfc, ERROR),
    "lgamma": (lgamma, GAMMA),
}


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_float64_is_the_nearest_number(name: str) -> None:
    function, values = UNARY[name]
    assert differing(applied(f"chlo.{name}", values), exactly(function, values)) == []


def test_next_to_a_zero_the_error_is_below_that_of_the_parts() -> None:
    zeros = np.array([-2.4570247382208006, -2.7476826467274127, -3.955294284858598])
    error = applied("chlo.lgamma", zeros) - exactly(lgamma, zeros)
    assert np.abs(error).max() < 2.0**-95
    zero = np.array([1.4616321449683622, -0.504083008264455])
    error = applied("chlo.digamma", zero) - exactly(gmpy2.digamma, zero)
    assert np.abs(error).max() < 2.0**-95


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", SHORT)
def test_a_function_of_a_short_float_is_the_nearest_number(name: str, dtype: Any) -> None:
    function, values = UNARY[name]
    with np.errstate(all="ignore"):
        short = values[::3].astype(dtype)
    wide = short.astype(np.float64)
    pole = (wide <= 0) & (wide == np.rint(wide)) if name in ("digamma", "lgamma") else wide != wide
    limit = np.abs(wide) >= 1 if name == "erf_inv" else pole
    short = short[np.isfinite(wide) & ~pole & ~limit & (wide != 0)]
    assert differing(applied(f"chlo.{name}", short), exactly(function, short)) == []


ZETA = (
    np.concatenate([uniform(1, 1, 30, 40), uniform(2, 1, 200, 20), 1 + spread(3, -15, 0, 10)]),
    np.concatenate([uniform(4, 0, 30, 40), uniform(5, 0, 900, 20), spread(6, -5, 3, 10)]),
)
BELOW = (np.repeat([2.0, 3.0, 7.0, 12.0], 8), -uniform(7, 0, 25, 32))
POLYGAMMA = (np.repeat([1.0, 2.0, 5.0, 11.0], 8), uniform(8, 0, 40, 32))
BINARY: tuple[Any, ...] = (
    ("zeta", zeta, ZETA),
    ("zeta", zeta, BELOW),
    ("polygamma", polygamma, POLYGAMMA),
    ("polygamma", polygamma, (np.repeat([1.0, 4.0], 16), -uniform(9, 0, 12, 32))),
    # The factorial alone is beyond float64.
    (
        "polygamma",
        polygamma,
        (np.repeat([180.0, 1000.0], 4), np.repeat([60.0, 90.5, 400.25, 600.0], 2)),
    ),
)


@pytest.mark.parametrize(("name", "function", "values"), BINARY)
def test_zeta_and_polygamma_are_close(name: str, function: Any, values: Any) -> None:
    result, wanted = applied(f"chlo.{name}", *values), exactly(function, *values, precision=160)
    assert np.all(np.abs(result - wanted) <= np.spacing(np.abs(wanted)))
    assert len(differing(result, wanted)) <= 1


@pytest.mark.parametrize("dtype", SHORT)
def test_zeta_of_a_short_float_is_the_nearest_number(dtype: Any) -> None:
    exponents, starts = (array[:40].astype(dtype) for array in ZETA)
    wanted = exactly(zeta, exponents, starts, precision=160)
    assert differing(applied("chlo.zeta", exponents, starts), wanted) == []


INF, NAN = np.inf, np.nan
POINTS: tuple[Any, ...] = (
    ("lgamma", [0.0, -0.0, -1, -(2.0**60), INF, -INF, NAN], [INF] * 6 + [NAN]),
    ("digamma", [0.0, -0.0, -3, -INF, INF, NAN], [NAN] * 4 + [INF, NAN]),
    ("erfc", [INF, -INF, NAN, 0.0, -0.0], [0.0, 2.0, NAN, 1.0, 1.0]),
    ("erf_inv", [0.0, -0.0, 1, -1, 1.5, NAN], [0.0, -0.0, INF, -INF, NAN, NAN]),
    ("bessel_i1e", [0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, 0.0, -0.0, NAN]),
)


@pytest.mark.parametrize(("name", "values", "wanted"), POINTS)
def test_special_points_of_one_number(name: str, values: Any, wanted: Any) -> None:
    result = applied(f"chlo.{name}", np.array(values, np.float64))
    assert differing(result, np.array(wanted, np.float64)) == []


PAIRS: tuple[Any, ...] = (
    ("zeta", [1, 0.5, NAN, 2, 3, 2.5, INF, INF, 2], [3, 2, 1, 0, -1, -0.5, 2, 1, INF]),
    ("polygamma", [0, 0.5, -1, 1, 2, 1], [1, 1, 1, 0, -1, INF]),
    # Where the terms of the series would leave the range.
    (
        "zeta",
        [2, 1.5, 1e308, 2.5, 1e300, 1e300, 1e20, 1e20, 1e20],
        [1e200, 1e300, 1e300, 2.0**200, 2, 0.5, 1, 2, -3.5],
    ),
    ("polygamma", [1, 2, 5, 1], [1e200, 1e100, 6e304, 6e304]),
)
LIMITS: tuple[Any, ...] = (
    [INF, NAN, NAN, INF, NAN, NAN, 0, 1, 0],
    [-0.5772156649015329, NAN, NAN, INF, NAN, 0],
    [1e-200, 2e-150, 0, 2.0**-300 / 1.5, 0, INF, 1, 0, INF],
    [1e-200, -1e-200, 0, 1 / 6e304],
)


@pytest.mark.parametrize(
    ("name", "first", "second", "wanted"),
    [(*pair, limits) for pair, limits in zip(PAIRS, LIMITS, strict=True)],
)
def test_special_points_of_two_numbers(name: str, first: Any, second: Any, wanted: Any) -> None:
    arrays = np.array(first, np.float64), np.array(second, np.float64)
    result = applied(f"chlo.{name}", *arrays)
    assert np.array_equal(result, np.array(wanted, np.float64), equal_nan=True)


@pytest.mark.parametrize("name", UNARY)
def test_a_fast_function_is_right_to_twelve_digits(name: str) -> None:
    values = np.array([0.25, 0.5, 0.75, 0.9])
    text = f"""func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {{
      %r = chlo.{name} %a : tensor<4xf64> -> tensor<4xf64>
      return %r : tensor<4xf64>
    }}"""
    (result,) = compiled(text, exact=False)(values)
    assert np.allclose(result, applied(f"chlo.{name}", values), rtol=1e-12, atol=0)


def test_a_constant_beside_an_array_in_a_body() -> None:
    text = """func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
      %r = "stablehlo.map"(%a) ({
      ^bb0(%x: tensor<f64>):
        %s = stablehlo.constant dense<2.0> : tensor<f64>
        %z = chlo.zeta %s, %x : tensor<f64>, tensor<f64> -> tensor<f64>
        stablehlo.return %z : tensor<f64>
      }) {dimensions = array<i64: 0>} : (tensor<3xf64>) -> tensor<3xf64>
      return %r : tensor<3xf64>
    }"""
    values = np.array([1.0, 2.0, 3.5])
    (result,) = run_text(text, [values])
    assert differing(result, applied("chlo.zeta", np.full(3, 2.0), values)) == []
