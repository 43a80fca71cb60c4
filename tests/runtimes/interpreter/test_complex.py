"""Complex elements: arithmetic, maps near their difficult points, special values, order, parts."""

from __future__ import annotations

import cmath
import math
from typing import Any

import gmpy2
import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import NAMES, Run
from topos.errors import ParseError
from topos.runtimes.interpreter.run import compiled

Array = np.ndarray[Any, Any]
INF, NAN = math.inf, math.nan
# Far more digits than any cancellation below takes.
DIGITS = 2400

MAPS: dict[str, Any] = {
    "cbrt": lambda z: gmpy2.exp(gmpy2.log(z) / 3),
    "cosine": gmpy2.cos,
    "exponential": gmpy2.exp,
    "exponential_minus_one": lambda z: gmpy2.exp(z) - 1,
    "log": gmpy2.log,
    "log_plus_one": lambda z: gmpy2.log(1 + z),
    "logistic": lambda z: 1 / (1 + gmpy2.exp(-z)),
    "rsqrt": lambda z: 1 / gmpy2.sqrt(z),
    "sign": lambda z: z / abs(z),
    "sine": gmpy2.sin,
    "sqrt": gmpy2.sqrt,
    "tan": gmpy2.tan,
    "tanh": gmpy2.tanh,
}
# Beside the branch cuts, the unit circle, zero, a pole of tan and one of logistic.
POINTS = [
    *(0.3 + 0.4j, -1.5 + 2j, 0.6 - 0.8j, -0.6000001 + 0.8j, 1e-9 - 1e-12j, -1e-9 + 1e-5j),
    *(-2 + 1e-9j, -2 - 1e-9j, 1 + 1e-8j, 3.5 - 0.25j, 1.5707963 + 1e-7j, 1e-9 + 3.1415926j),
    # Of modulus 1 but for 1e-22.
    0.760092142129768 + 0.6498153087397839j,
    *(-0.99999 + 1e-6j, -0.005 + 0.1j, 1e-12 + 1j, 12 - 6j, -30 + 2j),
]
LARGE = [1e200 + 1e-100j, -1e200 + 1e200j, 1e-200 - 3e-210j, -3e-300 + 1e-300j, 1.5e308 - 1.5e308j]


def ulps(got: float, exact: Any, digits: int) -> float:
    """Returns the distance in units of the last place of `exact` at so many binary digits."""
    if exact == 0:
        return 0.0 if got == 0 else INF
    last = gmpy2.get_exp(exact) - digits
    unit = gmpy2.mpfr(2) ** max(last, -1074)
    return float(abs(gmpy2.mpfr(got) - exact) / unit)


def distance(value: complex, exact: Any, digits: int) -> float:
    """Returns the greater one of the distances of both parts."""
    return max(ulps(value.real, exact.real, digits), ulps(value.imag, exact.imag, digits))


def worst(array: Array, result: Array, function: Any, digits: int) -> float:
    with gmpy2.context(precision=DIGITS):
        return max(
            distance(value, function(gmpy2.mpc(argument)), digits)
            for argument, value in zip(array.tolist(), result.tolist(), strict=True)
        )


def mapped(run: Run, name: str, *arrays: Array) -> Array:
    type = f"tensor<{arrays[0].size}x{NAMES[arrays[0].dtype.name]}>"
    operands = ", ".join(f"%{letter}" for letter, _ in zip("ab", arrays, strict=False))
    return run(f"%r = stablehlo.{name} {operands} : {type}", type, *arrays)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_right_by_parts(run: Run, name: str) -> None:
    array = np.array(POINTS)
    assert worst(array, mapped(run, name, array), MAPS[name], 53) < 3.5
    short = array.astype(np.complex64)
    assert worst(short, mapped(run, name, short), MAPS[name], 24) < 0.51


@pytest.mark.parametrize("name", ["cbrt", "log", "log_plus_one", "rsqrt", "sign", "sqrt"])
def test_a_map_of_extreme_numbers_does_not_overflow_on_the_way(run: Run, name: str) -> None:
    array = np.array(LARGE)
    assert worst(array, mapped(run, name, array), MAPS[name], 53) < 3.5


@pytest.mark.parametrize(
    ("name", "argument"),
    [("exponential", 709.9 + 1.5j), ("exponential_minus_one", 709.9 + 1.5j), ("sine", 1e-3 + 710j)],
)
def test_a_large_factor_overflows_only_with_the_product(run: Run, name: str, argument: Any) -> None:
    array = np.array([argument])
    result = mapped(run, name, array)
    with gmpy2.context(precision=DIGITS):
        assert ulps(float(result[0].real), MAPS[name](gmpy2.mpc(argument)).real, 53) < 3.5


def test_power_keeps_its_digits_where_the_exponent_is_large(run: Run) -> None:
    base, exponent = np.array([1.5 + 2j, 0.3 - 1j, -2 + 1e-9j]), np.array([90 - 40j, 3 + 2j, 31.5])
    result = mapped(run, "power", base, exponent)
    for z, w, value in zip(base.tolist(), exponent.tolist(), result.tolist(), strict=True):
        with gmpy2.context(precision=DIGITS):
            exact = gmpy2.exp(gmpy2.mpc(w) * gmpy2.log(gmpy2.mpc(z)))
            assert distance(value, exact, 53) < 3
    zeros = mapped(run, "power", np.array([0j, 0j, 2j]), np.array([0j, 2 + 0j, 0j]))
    assert zeros.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_division_is_right_by_parts(run: Run, dtype: Any) -> None:
    left = np.array([1 + 3j, 1 + 1e-9j, -3.5 + 2j, 5 - 1j], dtype)
    right = np.array([3 - 1j, 1 - 1e-9j, 1e-3 + 4j, 5 - 1j], dtype)
    digits = 53 if dtype == np.complex128 else 24
    result = mapped(run, "divide", left, right)
    for z, w, value in zip(left.tolist(), right.tolist(), result.tolist(), strict=True):
        with gmpy2.context(precision=DIGITS):
            assert distance(value, gmpy2.mpc(z) / gmpy2.mpc(w), digits) < 3
    large = mapped(run, "divide", np.array([1e308 + 1e308j]), np.array([1e308 - 1e308j]))
    assert large.tolist() == [1j]


DIVISIONS = (
    (1 + 1j, 0j, complex(INF, INF)),
    (complex(INF, 1), 2 + 0j, complex(INF, NAN)),
    (complex(INF, INF), 1 + 1j, complex(INF, NAN)),
    (1 + 1j, complex(INF, INF), 0j),
    (0j, 0j, complex(NAN, NAN)),
)


@pytest.mark.parametrize(("left", "right", "wanted"), DIVISIONS)
def test_division_by_zero_and_infinities(run: Run, left: Any, right: Any, wanted: Any) -> None:
    (value,) = mapped(run, "divide", np.array([left]), np.array([right])).tolist()
    for got, part in ((value.real, wanted.real), (value.imag, wanted.imag)):
        assert got == part or (math.isnan(got) and math.isnan(part))


SPECIALS = (
    ("sqrt", complex(-4.0, -0.0), complex(0.0, -2.0)),
    ("sqrt", complex(-INF, 1.0), complex(0.0, INF)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)),
    ("log", complex(-1.0, -0.0), complex(0.0, -math.pi)),
    ("log", complex(-0.0, 0.0), complex(-INF, math.pi)),
    ("log", complex(INF, NAN), complex(INF, NAN)),
    ("log_plus_one", complex(-1.0, 0.0), complex(-INF, 0.0)),
    ("log_plus_one", complex(-0.0, 0.0), complex(0.0, 0.0)),
    ("exponential", complex(-INF, 2.0), complex(-0.0, 0.0)),
    ("exponential", complex(INF, 0.0), complex(INF, 0.0)),
    ("exponential_minus_one", complex(-INF, 0.0), complex(-1.0, 0.0)),
    ("tanh", complex(INF, 2.0), complex(1.0, -0.0)),
    ("tanh", complex(25.0, -0.0), complex(1.0, -0.0)),
    (
        "tanh",
        complex(-300.0, 0.5),
        complex(-1.0, 4 * math.exp(-600) * math.sin(0.5) * math.cos(0.5)),
    ),
    ("sine", complex(-0.0, INF), complex(-0.0, INF)),
    ("sign", complex(-0.0, 0.0), complex(-0.0, 0.0)),
    ("sign", complex(NAN, 1.0), complex(NAN, NAN)),
    ("rsqrt", complex(INF, -INF), complex(0.0, 0.0)),
    ("negate", complex(0.0, NAN), complex(-0.0, NAN)),
)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("name", "argument", "wanted"), SPECIALS)
def test_a_special_value(run: Run, name: str, argument: Any, wanted: Any, dtype: Any) -> None:
    result = mapped(run, name, np.array([argument], dtype))
    expected = np.array([wanted], dtype)
    part: Any = np.float64 if dtype == np.complex128 else np.float32
    parts, wanted_parts = result.view(part), expected.view(part)
    np.testing.assert_allclose(parts, wanted_parts, rtol=float(2 * np.finfo(part).eps))
    known = ~np.isnan(wanted_parts)
    assert np.signbit(parts)[known].tolist() == np.signbit(wanted_parts)[known].tolist()


def test_the_modulus_is_real(run: Run) -> None:
    # Five times this is halfway between two numbers.
    odd = 2**51 + 1
    numbers = [3 - 4j, 1e300 + 1e300j, complex(3 * odd, 4 * odd), complex(NAN, -INF)]
    array = np.array([*numbers, complex(NAN, 1)])
    body = "%r = stablehlo.abs %a : (tensor<5xcomplex<f64>>) -> tensor<5xf64>"
    result = run(body, "tensor<5xf64>", array)
    assert result[:4].tolist() == [5.0, 1e300 * math.sqrt(2), float(5 * odd), INF]
    assert result[4:].view(np.uint64).tolist() == [0x7FF8000000000000]


def test_products_and_sums_are_by_parts(run: Run) -> None:
    left, right = np.array([1 + 2j, -0.0 + 1e308j]), np.array([3 - 1j, -0.0 + 10j])
    assert mapped(run, "multiply", left, right).tolist() == [5 + 5j, complex(-INF, -0.0)]
    assert mapped(run, "add", left, right).tolist() == [4 + 1j, -0.0 + 1e308j]
    assert mapped(run, "subtract", left, right).tolist() == [-2 + 3j, 0.0 + 1e308j]


def test_atan2_of_real_numbers_is_the_real_one(run: Run) -> None:
    y, x = np.array([1 + 0j, -1, 1, 2]), np.array([0j, 0, 1, -3])
    result = mapped(run, "atan2", y, x)
    wanted = [math.atan2(a.real, b.real) for a, b in zip(y.tolist(), x.tolist(), strict=True)]
    np.testing.assert_allclose(result.real, wanted, rtol=1e-15)
    np.testing.assert_allclose(result.imag, 0, atol=1e-15)
    (value,) = mapped(run, "atan2", np.array([0.3 + 0.2j]), np.array([1 + 0j])).tolist()
    assert cmath.isclose(value, cmath.atan(0.3 + 0.2j), rel_tol=1e-14)


ORDERED = [complex(-1, 9), complex(0, -2), complex(0, 3), complex(2, -5)]
DIRECTIONS = {"LT": "1000", "LE": "1100", "GT": "0011", "GE": "0111", "EQ": "0100", "NE": "1011"}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_order_is_that_of_pairs(run: Run, direction: str) -> None:
    left, right = np.array(ORDERED, np.complex64), np.full(4, ORDERED[1], np.complex64)
    type = "tensor<4xcomplex<f32>>"
    body = f"%r = stablehlo.compare {direction}, %a, %b, FLOAT : ({type}, {type}) -> tensor<4xi1>"
    result = run(body, "tensor<4xi1>", left, right)
    assert "".join(str(int(bit)) for bit in result) == DIRECTIONS[direction]


def test_extremes_follow_the_order_and_keep_nan(run: Run) -> None:
    left, right = np.array([*ORDERED[:3], 1 + 0j]), np.array([*ORDERED[1:], complex(0, NAN)])
    assert mapped(run, "maximum", left, right).tolist()[:3] == ORDERED[1:]
    assert mapped(run, "minimum", left, right).tolist()[:3] == ORDERED[:3]
    assert np.isnan(mapped(run, "maximum", left, right)[3])
    assert np.isnan(mapped(run, "minimum", left, right)[3])
    low, high = np.array(ORDERED[1]), np.array(ORDERED[2])
    types = "(tensor<complex<f64>>, tensor<4xcomplex<f64>>, tensor<complex<f64>>)"
    body = f"%r = stablehlo.clamp %a, %b, %c : {types} -> tensor<4xcomplex<f64>>"
    result = run(body, "tensor<4xcomplex<f64>>", low, np.array(ORDERED), high)
    assert result.tolist() == [ORDERED[1], ORDERED[1], ORDERED[2], ORDERED[2]]


def test_parts_are_taken_and_joined_bit_by_bit(run: Run) -> None:
    bits = np.array([0x7FC00001, 0x80000000, 0x3F800000, 0xFF800000], np.uint32)
    array = bits.view(np.complex64)
    whole, part = "tensor<2xcomplex<f32>>", "tensor<2xf32>"
    real = run(f"%r = stablehlo.real %a : ({whole}) -> {part}", part, array)
    imaginary = run(f"%r = stablehlo.imag %a : ({whole}) -> {part}", part, array)
    assert real.view(np.uint32).tolist() == bits[::2].tolist()
    assert imaginary.view(np.uint32).tolist() == bits[1::2].tolist()
    joined = run(f"%r = stablehlo.complex %a, %b : {whole}", whole, real, imaginary)
    assert joined.tobytes() == array.tobytes()
    floats = np.array([1.5, -0.0], np.float32)
    body = f"%r = stablehlo.{{}} %a : ({part}) -> {part}"
    assert run(body.format("real"), part, floats).tobytes() == floats.tobytes()
    assert run(body.format("imag"), part, floats).tolist() == [0.0, 0.0]


CONSTANTS = (
    ("(1.5, -2.0)", "2xcomplex<f64>", [1.5 - 2j, 1.5 - 2j]),
    ("[(1.0, 2.0), (0x7F800000, -0.5)]", "2xcomplex<f32>", [1 + 2j, complex(INF, -0.5)]),
    ("[[(0.0, 1.0)], [(2.0, 3.0)]]", "2x1xcomplex<f32>", [[1j], [2 + 3j]]),
    ('"0x0000803F00000040"', "complex<f32>", 1 + 2j),
)


@pytest.mark.parametrize(("body", "type", "wanted"), CONSTANTS)
def test_a_constant_is_pairs(run: Run, body: str, type: str, wanted: Any) -> None:
    result = run(f"%r = stablehlo.constant dense<{body}> : tensor<{type}>", f"tensor<{type}>")
    assert result.tolist() == wanted


@pytest.mark.parametrize("body", ["[1.0, 2.0]", "[(1.0, 2.0)]", "[(1.0, 2.0), (1.0)]", "(1, 2.0)"])
def test_a_constant_of_other_than_pairs_is_refused(run: Run, body: str) -> None:
    with pytest.raises(ParseError):
        run(
            f"%r = stablehlo.constant dense<{body}> : tensor<2xcomplex<f32>>",
            "tensor<2xcomplex<f32>>",
        )


@pytest.mark.parametrize("name", MAPS)
def test_the_fast_posture_agrees(run: Run, name: str) -> None:
    array = np.array([0.3 + 0.4j, -1.5 + 2j, 3.5 - 0.25j, -0.7 - 0.1j])
    type = "tensor<4xcomplex<f64>>"
    text = f"""func.func @main(%a: {type}) -> {type} {{
      %r = stablehlo.{name} %a : {type}
      return %r : {type}
    }}"""
    (fast,) = compiled(text, exact=False)(array)
    np.testing.assert_allclose(fast, mapped(run, name, array), rtol=1e-14)
