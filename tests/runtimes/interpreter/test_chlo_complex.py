"""The functions of complex numbers of CHLO: parts within a unit of MPC's, and their branch cuts."""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
import pytest

from tests.runtimes.interpreter.high_precision import Array, applied
from topos.runtimes.interpreter.run import compiled

NAMES = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
INVERSE = NAMES[:6]
SMALLEST = 2.0**-1022


def points(count: int) -> Array:
    rng = np.random.default_rng(11)

    def spread(low: float, high: float) -> Array:
        sign = rng.choice([-1.0, 1.0], count)
        return np.asarray(sign * 10.0 ** rng.uniform(low, high, count))

    circle = np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    unit = 1 + spread(-16, 0) + 1j * spread(-300, 0)
    return np.concatenate(
        [
            spread(-5, 2) + 1j * spread(-5, 2),
            rng.uniform(-1, 1, count) + 1j * rng.uniform(-1, 1, count),
            circle,
            unit,
            -1j * unit,
        ]
    )


def far_points(count: int) -> Array:
    rng = np.random.default_rng(13)
    exponents = rng.uniform(-150, 300, (2, count))
    real, imaginary = rng.choice([-1.0, 1.0], (2, count)) * 10.0**exponents
    return np.asarray(real + 1j * imaginary)


def distances(name: str, values: Array, result: Array) -> Array:
    """Returns how many units of the result's format each part is from that of MPC."""
    part = np.dtype(f"f{values.dtype.itemsize // 2}")
    with gmpy2.context(precision=3000, emin=-(10**6), emax=10**6):
        exact = [getattr(gmpy2, name)(gmpy2.mpc(complex(value))) for value in values]
        pairs = zip(exact, result.tolist(), strict=True)
        return np.array(
            [
                float(abs(gmpy2.mpfr(got) - wanted) / gmpy2.mpfr(unit(float(wanted), part)))
                for number, value in pairs
                for got, wanted in ((value.real, number.real), (value.imag, number.imag))
            ]
        )


def unit(number: float, part: np.dtype[Any]) -> float:
    with np.errstate(over="ignore"):
        return float(np.spacing(np.abs(np.array(number).astype(part))))


@pytest.mark.parametrize("name", NAMES)
def test_both_parts_are_the_nearest_numbers(name: str) -> None:
    values = points(25)
    assert distances(name, values, applied(f"chlo.{name}", values)).max() <= 0.5001


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_a_short_complex_are_nearest_too(name: str) -> None:
    values = points(25).astype(np.complex64)
    # Rounding to complex<f32> has put some points on the poles of atan and atanh.
    values = values[(values**2 != 1) & (values**2 != -1)]
    assert values.size > 80
    assert distances(name, values, applied(f"chlo.{name}", values)).max() <= 0.5001


@pytest.mark.parametrize("name", INVERSE)
def test_squares_that_leave_the_range_do_no_harm(name: str) -> None:
    values = far_points(60)
    result = applied(f"chlo.{name}", values)
    normal = (np.abs(result.real) > SMALLEST) & (np.abs(result.imag) > SMALLEST)
    assert normal.sum() > 30
    assert distances(name, values[normal], result[normal]).max() <= 0.5001


CUTS: tuple[Any, ...] = (
    ("asin", 2, 1j, (1, 1)),
    ("asin", -2, 1j, (-1, 1)),
    ("acos", 2, 1j, (1, -1)),
    ("acosh", -2, 1j, (1, 1)),
    ("atanh", 2, 1j, (1, 1)),
    ("asinh", 2j, 1, (1, 1)),
    ("atan", 2j, 1, (1, 1)),
)


@pytest.mark.parametrize(("name", "at", "across", "signs"), CUTS)
def test_the_sign_of_a_zero_tells_the_side_of_a_cut(
    name: str, at: complex, across: complex, signs: Any
) -> None:
    values = np.empty(2, np.complex128)
    values.real, values.imag = complex(at).real, complex(at).imag
    # The part that is zero on the cut, with either sign.
    part = values.imag if across == 1j else values.real
    part[:] = [0.0, -0.0]
    near = values + np.array([1e-30, -1e-30]) * across
    result, beside = applied(f"chlo.{name}", values), applied(f"chlo.{name}", near)
    assert np.abs(result - beside).max() < 1e-15
    assert abs(result[0] - result[1]) > 1
    assert (np.copysign(1, result[0].real), np.copysign(1, result[0].imag)) == signs


def test_a_kernel_of_asin_and_acos() -> None:
    values = points(10)
    kernel = applied("chlo._asin_acos_kernel", values)
    real = np.arctan2(values.real, kernel.real)
    rebuilt = real + 1j * np.sign(values.imag) * kernel.imag
    assert np.allclose(rebuilt, applied("chlo.asin", values), rtol=1e-14, atol=0)


INF, NAN, RIGHT = np.inf, np.nan, np.pi / 2
# Of C99, Annex G.6.
SPECIAL = (
    ("asinh", (INF, INF), (INF, RIGHT / 2)),
    ("asinh", (-1.0, INF), (-INF, RIGHT)),
    ("asinh", (NAN, -0.0), (NAN, -0.0)),
    ("asin", (INF, 1.0), (RIGHT, INF)),
    ("acos", (-INF, INF), (1.5 * RIGHT, -INF)),
    ("acos", (-INF, 1.0), (2 * RIGHT, -INF)),
    ("acos", (0.0, NAN), (RIGHT, NAN)),
    ("acosh", (-INF, 1.0), (INF, 2 * RIGHT)),
    ("atanh", (1.0, -INF), (0.0, -RIGHT)),
    ("atanh", (INF, NAN), (0.0, NAN)),
    ("atan", (INF, 1.0), (RIGHT, 0.0)),
    ("cosh", (INF, 2.0), (-INF, INF)),
    ("cosh", (INF, -0.0), (INF, -0.0)),
    ("sinh", (-INF, 0.0), (-INF, 0.0)),
    ("sinh", (1.0, INF), (NAN, NAN)),
    ("tan", (0.0, INF), (0.0, 1.0)),
    # Beside a pole, where the square of the distance is nothing: ln(2 / y) / 2.
    ("atanh", (1.0, 2.0**-700), (701 * np.log(2) / 2, RIGHT / 2)),
)


@pytest.mark.parametrize(("name", "number", "wanted"), SPECIAL)
def test_a_special_value_is_that_of_the_standard(name: str, number: Any, wanted: Any) -> None:
    result = applied(f"chlo.{name}", np.array([number]).view(np.complex128)[:, 0])
    got = result.view(np.float64)
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
    known = np.array(wanted) == wanted
    assert np.signbit(got)[known].tolist() == np.signbit(wanted)[known].tolist()


def test_signed_zeros_of_sinh_cosh_and_tan() -> None:
    values = np.empty(4, np.complex128)
    values.real, values.imag = [0.0, -0.0, 2.0, -0.0], [-0.0, 2.0, -0.0, 0.0]
    for name in ("sinh", "cosh", "tan"):
        result, wanted = applied(f"chlo.{name}", values), getattr(np, name)(values)
        assert np.signbit(result.real).tolist() == np.signbit(wanted.real).tolist(), name
        assert np.signbit(result.imag).tolist() == np.signbit(wanted.imag).tolist(), name


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", NAMES)
def test_fast_functions_are_close(name: str, dtype: Any) -> None:
    values = np.array([0.3 + 0.4j, -2 + 0.5j, 1 - 3j], dtype)
    type = f"tensor<3xcomplex<{'f64' if dtype is np.complex128 else 'f32'}>>"
    text = f"""func.func @main(%a: {type}) -> {type} {{
      %r = chlo.{name} %a : {type} -> {type}
      return %r : {type}
    }}"""
    (result,) = compiled(text, exact=False)(values)
    tolerance = 16 * np.finfo(dtype).eps
    assert np.allclose(result, applied(f"chlo.{name}", values), rtol=tolerance, atol=0)


def test_conj_changes_one_sign() -> None:
    values = np.array([1 - 2j, 0j, complex(np.inf, -np.nan)])
    assert np.array_equal(np.signbit(applied("chlo.conj", values).imag), ~np.signbit(values.imag))
    assert applied("chlo.conj", np.array([1.0, -0.0])).tolist() == [1.0, -0.0]
