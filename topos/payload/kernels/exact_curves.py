"""Exact curves: the circular and hyperbolic maps, their inverses and the cube root, by integers.

Enclosures as those of `exact`. At a nonzero binary fraction every result but the cube root is
transcendental (Lindemann; Gelfond for logarithms of algebraic numbers), and a cube root that is a
binary fraction has at most a third of its cube's bits, so that none is a midpoint.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from topos.payload.kernels.exact import (
    FINITE,
    ExactMap,
    below_one,
    decided,
    dyadic,
    enclose_circular,
    logarithm_of,
)
from topos.payload.kernels.exact_series import cosine, exponential, half_pi, shifted, sine
from topos.payload.kernels.rounding import Format

# The sine and cosine of a float64 number are above 2**-64 of the lesser of 1 and the number.
_NEAREST_ZERO: Final = 70
_GUESSED: Final = 60


def _tan(integer: int, exponent: int, places: int) -> tuple[int, int]:
    inner = places + _NEAREST_ZERO + below_one(integer, exponent)
    sine_part, cosine_part = (
        enclose_circular(integer, exponent, inner, turn)[0] for turn in (0, 1)
    )
    # No more bits than the two parts have right.
    bits = min(sine_part.bit_length(), cosine_part.bit_length())
    shift = bits - sine_part.bit_length() + cosine_part.bit_length()
    return shifted(sine_part, shift) // cosine_part, -shift


def _hyperbolic(sign: int, integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Encloses (e**x + sign e**-x) / 2."""
    places += below_one(integer, exponent)
    argument = shifted(integer, exponent + places + 24)
    grown, power = exponential(argument, places)
    shrunk, lowered = exponential(-argument, places)
    return grown + sign * shifted(shrunk, lowered - power), power - places - 1


def _asinh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Encloses ln(x + sqrt(x*x + 1))."""
    inner = places + 8 + below_one(integer, exponent) + max(0, -exponent)
    x = shifted(integer, exponent + inner)
    return logarithm_of(x + math.isqrt(x * x + (1 << 2 * inner)), -inner, places)


def _acosh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    inner = places + 64 + max(0, -exponent)
    x = shifted(integer, exponent + inner)
    return logarithm_of(x + math.isqrt(x * x - (1 << 2 * inner)), -inner, places)


def _atanh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Encloses half of ln((1 + x) / (1 - x))."""
    inner, one = places + 8 + below_one(integer, exponent), 1 << -exponent
    value, unit = logarithm_of(((one + integer) << inner) // (one - integer), -inner, places)
    return value, unit - 1


def _angle(opposite: int, adjacent: int, places: int) -> tuple[int, int]:
    """Encloses the arctangent of a quotient of positive integers."""
    if opposite > adjacent:
        inner = places + 8
        value, unit = _angle(adjacent, opposite, inner)
        return half_pi(inner) - shifted(value, unit + inner), -inner
    inner = places + 32 + max(0, adjacent.bit_length() - opposite.bit_length())
    quotient = opposite / adjacent
    # With a guess of the angle, what is left to the series is tiny.
    whole = round(math.atan(quotient) * 2**_GUESSED) if quotient > 2.0**-30 else 0
    guess = shifted(whole, inner - _GUESSED)
    sine_part, cosine_part = sine(guess, inner), cosine(guess, inner)
    above = opposite * cosine_part - adjacent * sine_part
    rest = (above << inner) // (adjacent * cosine_part + opposite * sine_part)
    square, power, total, divisor = rest * rest >> inner, rest, 0, 1
    while power not in (0, -1):
        total += power // divisor if divisor & 2 == 0 else -(power // divisor)
        power = power * square >> inner
        divisor += 2
    return guess + total, -inner


def _turned(value: tuple[int, int]) -> tuple[int, int]:
    """Returns pi less an angle."""
    places = -value[1]
    return 2 * half_pi(places) - value[0], value[1]


def _atan(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return _angle(integer << max(0, exponent), 1 << max(0, -exponent), places)


def _legs(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Returns |x| and sqrt(1 - x*x), of one scale, for |x| < 1."""
    one = 1 << -exponent
    inner = places + 64
    return abs(integer) << inner, math.isqrt((one * one - integer * integer) << 2 * inner)


def _asin(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return _angle(*_legs(integer, exponent, places), places)


def _acos(integer: int, exponent: int, places: int) -> tuple[int, int]:
    found = _angle(*_legs(integer, exponent, places)[::-1], places)
    return found if integer > 0 else _turned(found)


def _cbrt(integer: int, exponent: int, places: int) -> tuple[int, int]:
    shift = 3 * places + exponent % 3
    target = integer << shift
    # From above, Newton's method descends to the root rounded down.
    root = 1 << -(-target.bit_length() // 3)
    while True:
        closer = (2 * root + target // (root * root)) // 3
        if closer >= root:
            break
        root = closer
    return root, (exponent - shift) // 3


def angle_at(y: float, x: float, target: Format) -> float:
    """Returns the angle of (x, y), from -pi to pi, correctly rounded; both finite and nonzero."""
    (opposite, first), (adjacent, second) = dyadic(abs(y)), dyadic(abs(x))
    opposite, adjacent = opposite << max(0, first - second), adjacent << max(0, second - first)

    def enclose(places: int) -> tuple[int, int]:
        found = _angle(opposite, adjacent, places)
        return found if x > 0.0 else _turned(found)

    return math.copysign(decided(enclose, target), y)


_UNIT: Final = (-1.0, 1.0)
_ENDLESS: Final = {0.0: 0.0, math.inf: math.inf}
_HALF_PI: Final = math.pi / 2

ACOS: Final = ExactMap("acos", _acos, {-1.0: math.pi, 0.0: _HALF_PI, 1.0: 0.0}, domain=_UNIT)
ACOSH: Final = ExactMap("acosh", _acosh, {1.0: 0.0, math.inf: math.inf}, domain=(1.0, math.inf))
ASIN: Final = ExactMap("asin", _asin, {0.0: 0.0, 1.0: _HALF_PI}, domain=_UNIT, odd=True)
ASINH: Final = ExactMap("asinh", _asinh, _ENDLESS, odd=True)
ATAN: Final = ExactMap("atan", _atan, {0.0: 0.0, math.inf: _HALF_PI}, odd=True)
ATANH: Final = ExactMap("atanh", _atanh, {0.0: 0.0, 1.0: math.inf}, domain=_UNIT, odd=True)
CBRT: Final = ExactMap("cbrt", _cbrt, _ENDLESS, odd=True)
COSH: Final = ExactMap(
    "cosh", partial(_hyperbolic, 1), {0.0: 1.0}, (800.0, math.inf), (-800.0, math.inf)
)
SINH: Final = ExactMap("sinh", partial(_hyperbolic, -1), {0.0: 0.0}, (800.0, math.inf), odd=True)
TAN: Final = ExactMap("tan", _tan, {0.0: 0.0}, domain=FINITE, odd=True)
