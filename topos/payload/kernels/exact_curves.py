"""Exact curves: the circular and hyperbolic maps, their inverses and the cube root, by integers.

Enclosures as those of `exact`. At a nonzero binary fraction every result but the cube root is
transcendental (Lindemann; Gelfond for logarithms of algebraic numbers), and a cube root that is a
binary fraction has at most a third of its cube's bits, so that none is a midpoint.
"""

from __future__ import annotations

import math
from typing import Final

from topos.payload.kernels.exact import ExactMap, decided, dyadic, enclose_circular, logarithm_of
from topos.payload.kernels.exact_series import cosine, exponential, half_pi, shifted, sine
from topos.payload.kernels.rounding import Format

__all__ = [
    "ACOS",
    "ACOSH",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATANH",
    "CBRT",
    "COSH",
    "SINH",
    "TAN",
    "angle_at",
]

# The sine and cosine of a float64 number are above 2**-64 of the lesser of 1 and the number.
_NEAREST_ZERO: Final = 70
_GUESSED: Final = 60


def _below_one(integer: int, exponent: int) -> int:
    """Returns how many bits a number's highest one is below the binary point, 0 for none."""
    return max(0, -integer.bit_length() - exponent)


def _tan(integer: int, exponent: int, places: int) -> tuple[int, int]:
    inner = places + _NEAREST_ZERO + _below_one(integer, exponent)
    sine_part, cosine_part = (
        enclose_circular(integer, exponent, inner, turn)[0] for turn in (0, 1)
    )
    # No more bits than the two parts have right.
    bits = min(sine_part.bit_length(), cosine_part.bit_length())
    shift = bits - sine_part.bit_length() + cosine_part.bit_length()
    return shifted(sine_part, shift) // cosine_part, -shift


def _tan_limit(value: float) -> float | None:
    if value == 0.0:
        return value
    return None if math.isfinite(value) else math.nan


def _hyperbolic(integer: int, exponent: int, places: int, sign: int) -> tuple[int, int]:
    """Encloses (e**|x| + sign e**-|x|) / 2."""
    places += _below_one(integer, exponent)
    argument = shifted(abs(integer), exponent + places + 24)
    grown, power = exponential(argument, places)
    shrunk, lowered = exponential(-argument, places)
    return grown + sign * shifted(shrunk, lowered - power), power - places - 1


def _sinh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    value, unit = _hyperbolic(integer, exponent, places, -1)
    return (value if integer > 0 else -value), unit


def _sinh_limit(value: float) -> float | None:
    if math.isnan(value) or value == 0.0:
        return value
    return math.copysign(math.inf, value) if abs(value) > 800.0 else None


def _cosh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return _hyperbolic(integer, exponent, places, 1)


def _cosh_limit(value: float) -> float | None:
    if math.isnan(value):
        return value
    if value == 0.0:
        return 1.0
    return math.inf if abs(value) > 800.0 else None


def _asinh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Encloses ln(x + sqrt(x*x + 1)) with the sign of x."""
    inner = places + 8 + _below_one(integer, exponent) + max(0, -exponent)
    x = shifted(abs(integer), exponent + inner)
    total = x + math.isqrt(x * x + (1 << 2 * inner))
    value, unit = logarithm_of(total, -inner, places)
    return (value if integer > 0 else -value), unit


def _asinh_limit(value: float) -> float | None:
    return value if value == 0.0 or not math.isfinite(value) else None


def _acosh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    inner = places + 64 + max(0, -exponent)
    x = shifted(integer, exponent + inner)
    return logarithm_of(x + math.isqrt(x * x - (1 << 2 * inner)), -inner, places)


def _acosh_limit(value: float) -> float | None:
    if math.isnan(value) or value < 1.0:
        return math.nan
    if value == math.inf:
        return value
    return 0.0 if value == 1.0 else None


def _atanh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Encloses half of ln((1 + x) / (1 - x))."""
    inner, one = places + 8 + _below_one(integer, exponent), 1 << -exponent
    ratio = ((one + abs(integer)) << inner) // (one - abs(integer))
    value, unit = logarithm_of(ratio, -inner, places)
    return (value if integer > 0 else -value), unit - 1


def _atanh_limit(value: float) -> float | None:
    if value == 0.0:
        return value
    if math.isnan(value) or abs(value) > 1.0:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) == 1.0 else None


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
    opposite, adjacent = abs(integer) << max(0, exponent), 1 << max(0, -exponent)
    value, unit = _angle(opposite, adjacent, places)
    return (value if integer > 0 else -value), unit


def _atan_limit(value: float) -> float | None:
    if math.isinf(value):
        return math.copysign(math.pi / 2, value)
    return value if math.isnan(value) or value == 0.0 else None


def _legs(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Returns |x| and sqrt(1 - x*x), of one scale, for |x| < 1."""
    one = 1 << -exponent
    inner = places + 64
    return abs(integer) << inner, math.isqrt((one * one - integer * integer) << 2 * inner)


def _asin(integer: int, exponent: int, places: int) -> tuple[int, int]:
    value, unit = _angle(*_legs(integer, exponent, places), places)
    return (value if integer > 0 else -value), unit


def _asin_limit(value: float) -> float | None:
    if value == 0.0:
        return value
    if math.isnan(value) or abs(value) > 1.0:
        return math.nan
    return math.copysign(math.pi / 2, value) if abs(value) == 1.0 else None


def _acos(integer: int, exponent: int, places: int) -> tuple[int, int]:
    found = _angle(*_legs(integer, exponent, places)[::-1], places)
    return found if integer > 0 else _turned(found)


def _acos_limit(value: float) -> float | None:
    if math.isnan(value) or abs(value) > 1.0:
        return math.nan
    if value == 0.0:
        return math.pi / 2
    return {1.0: 0.0, -1.0: math.pi}.get(value)


def _cbrt(integer: int, exponent: int, places: int) -> tuple[int, int]:
    shift = 3 * places + exponent % 3
    target = abs(integer) << shift
    # From above, Newton's method descends to the root rounded down.
    root = 1 << -(-target.bit_length() // 3)
    while True:
        closer = (2 * root + target // (root * root)) // 3
        if closer >= root:
            break
        root = closer
    return (root if integer > 0 else -root), (exponent - shift) // 3


def _cbrt_limit(value: float) -> float | None:
    return value if value == 0.0 or not math.isfinite(value) else None


def angle_at(y: float, x: float, target: Format) -> float:
    """Returns the angle of (x, y), from -pi to pi, correctly rounded; both finite and nonzero."""
    (opposite, first), (adjacent, second) = dyadic(abs(y)), dyadic(abs(x))
    opposite, adjacent = opposite << max(0, first - second), adjacent << max(0, second - first)

    def enclose(places: int) -> tuple[int, int]:
        found = _angle(opposite, adjacent, places)
        return found if x > 0.0 else _turned(found)

    return math.copysign(decided(enclose, target), y)


ACOS: Final = ExactMap("acos", _acos_limit, _acos)
ACOSH: Final = ExactMap("acosh", _acosh_limit, _acosh)
ASIN: Final = ExactMap("asin", _asin_limit, _asin)
ASINH: Final = ExactMap("asinh", _asinh_limit, _asinh)
ATAN: Final = ExactMap("atan", _atan_limit, _atan)
ATANH: Final = ExactMap("atanh", _atanh_limit, _atanh)
CBRT: Final = ExactMap("cbrt", _cbrt_limit, _cbrt)
COSH: Final = ExactMap("cosh", _cosh_limit, _cosh)
SINH: Final = ExactMap("sinh", _sinh_limit, _sinh)
TAN: Final = ExactMap("tan", _tan_limit, _tan)
