"""Exact maps: the correctly rounded value of a map at one number, by integer arithmetic.

Each enclosure takes a nonzero number x = integer * 2**exponent and returns (n, e) such that the
exact result lies within 2**16 units of n, in units of 2**e, where |n| has at least `places` - 1
bits unless the result cancels. Where both ends of that interval round alike the rounding is
decided; otherwise the places double. That ends: at a nonzero binary fraction the results of
exp, expm1, ln (but at 1), log1p, tanh, logistic, sin, cos (Lindemann) and erf (Siegel and
Shidlovskii) are transcendental, and rsqrt is a binary fraction only where it is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.exact_series import (
    cosine,
    error_integral,
    exponential,
    half_pi,
    logarithm,
    natural_log_of_two,
    shifted,
    sine,
)
from topos.payload.kernels.rounding import Format, nearest

__all__ = [
    "COS",
    "ERF",
    "EXP",
    "EXPM1",
    "LN",
    "LOG1P",
    "LOGISTIC",
    "RSQRT",
    "SIN",
    "TANH",
    "ExactMap",
    "decided",
    "dyadic",
    "enclose_circular",
    "logarithm_of",
]

Enclosure = Callable[[int, int, int], tuple[int, int]]
_SLACK: Final = 1 << 16


def dyadic(value: float) -> tuple[int, int]:
    """Returns (n, e) with value = n * 2**e and n odd; the value is finite and nonzero."""
    numerator, denominator = value.as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    return numerator >> zeros, zeros - denominator.bit_length() + 1


def decided(enclose: Callable[[int], tuple[int, int]], target: Format) -> float:
    """Returns the number of `target` nearest to what `enclose(places)` encloses."""
    places = 144
    while True:
        integer, exponent = enclose(places)
        low = nearest(integer - _SLACK, exponent, target)
        if low == nearest(integer + _SLACK, exponent, target) and abs(integer) > _SLACK:
            return low
        places *= 2


class ExactMap(NamedTuple):
    """A map as mathematics knows it: its limits, and an enclosure for everything else.

    `limit` returns the result where it is special or rounds to the same number in every format
    (an infinity, a zero, or 1), None elsewhere.
    """

    name: str
    limit: Callable[[float], float | None]
    enclose: Enclosure

    def at(self, value: float, target: Format) -> float:
        """Returns the map of `value`, correctly rounded to `target`."""
        known = self.limit(value)
        if known is not None:
            return known
        integer, exponent = dyadic(value)
        return decided(lambda places: self.enclose(integer, exponent, places), target)

    def each(self, values: Array, target: Format) -> Array:
        """Returns the map of float64 `values` (one axis), each distinct value computed once."""
        bits, inverse = np.unique(values.view(np.uint64), return_inverse=True)
        distinct = bits.view(np.float64).tolist()
        results = np.array([self.at(value, target) for value in distinct], np.float64)
        return results[inverse].astype(target.dtype)


def _top(integer: int, exponent: int) -> int:
    """Returns t with 2**(t-1) <= |integer * 2**exponent| < 2**t."""
    return integer.bit_length() + exponent


def _exponential_of(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return exponential(shifted(integer, exponent + places + 24), places)


def _exp(integer: int, exponent: int, places: int) -> tuple[int, int]:
    scaled, power = _exponential_of(integer, exponent, places)
    return scaled, power - places


def _exp_limit(value: float) -> float | None:
    if math.isnan(value) or value == math.inf:
        return value
    if value > 800.0:
        return math.inf
    if value < -800.0:
        return 0.0
    return 1.0 if value == 0.0 else None


def _expm1(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += max(0, -_top(integer, exponent))
    scaled, power = _exponential_of(integer, exponent, places)
    if power < 0:
        return shifted(scaled, power) - (1 << places), -places
    return scaled - shifted(1 << places, -power), power - places


def _expm1_limit(value: float) -> float | None:
    if value == 0.0:
        return value
    return -1.0 if value < -50.0 else _exp_limit(value)


def logarithm_of(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Returns the enclosure of ln(integer * 2**exponent) for a positive number other than 1."""
    length = integer.bit_length()
    # The fraction of integer / 2**length is brought into [0.7, 1.4), so that the logarithm
    # cancels only near 1, where the places grow by what the subtraction loses.
    length -= 10 * integer < 7 << length
    power = exponent + length
    if power == 0:
        places += max(0, length - abs(integer - (1 << length)).bit_length())
    scaled = shifted(integer, places - length)
    return logarithm(scaled, places) + power * natural_log_of_two(places), -places


def _ln_limit(value: float) -> float | None:
    if math.isnan(value) or value < 0.0:
        return math.nan
    if value == 0.0:
        return -math.inf
    if value == math.inf:
        return value
    return 0.0 if value == 1.0 else None


def _log1p(integer: int, exponent: int, places: int) -> tuple[int, int]:
    if exponent >= 0:
        return logarithm_of((integer << exponent) + 1, 0, places)
    return logarithm_of(integer + (1 << -exponent), exponent, places)


def _log1p_limit(value: float) -> float | None:
    if value == 0.0 or value == math.inf:
        return value
    if math.isnan(value) or value < -1.0:
        return math.nan
    return -math.inf if value == -1.0 else None


def _tanh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += max(0, -_top(integer, exponent))
    scaled, power = _exponential_of(2 * abs(integer), exponent, places)
    grown, one = scaled << power, 1 << places
    quotient = ((grown - one) << places) // (grown + one)
    return (quotient if integer > 0 else -quotient), -places


def _tanh_limit(value: float) -> float | None:
    if math.isnan(value) or value == 0.0:
        return value
    return math.copysign(1.0, value) if abs(value) > 22.0 else None


def _logistic(integer: int, exponent: int, places: int) -> tuple[int, int]:
    scaled, power = _exponential_of(-abs(integer), exponent, places)
    denominator = (1 << places) + shifted(scaled, power)
    if integer > 0:
        return (1 << 2 * places) // denominator, -places
    return (scaled << places) // denominator, power - places


def _logistic_limit(value: float) -> float | None:
    if math.isnan(value):
        return value
    if value > 50.0:
        return 1.0
    if value < -800.0:
        return 0.0
    return 0.5 if value == 0.0 else None


def _quadrant(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Returns the multiple of pi/2 nearest to x, and the rest of x with `places` places."""
    inner = places + max(0, _top(integer, exponent)) + 8
    argument, quarter = shifted(integer, exponent + inner), half_pi(inner)
    multiple = (2 * argument + quarter) // (2 * quarter)
    return multiple, (argument - multiple * quarter) >> (inner - places)


def enclose_circular(integer: int, exponent: int, places: int, turn: int) -> tuple[int, int]:
    """Returns the enclosure of sin(x + turn pi/2)."""
    multiple, rest = _quadrant(integer, exponent, places)
    turn += multiple
    value = cosine(rest, places) if turn & 1 else sine(rest, places)
    return (-value if turn & 2 else value), -places


def _sin(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return enclose_circular(integer, exponent, places + max(0, -_top(integer, exponent)), 0)


def _cos(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return enclose_circular(integer, exponent, places, 1)


def _sin_limit(value: float) -> float | None:
    if value == 0.0:
        return value
    return None if math.isfinite(value) else math.nan


def _cos_limit(value: float) -> float | None:
    if value == 0.0:
        return 1.0
    return None if math.isfinite(value) else math.nan


def _erf(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += max(0, -_top(integer, exponent)) + 8
    series = error_integral(shifted(abs(integer), exponent + places), places)
    scaled, power = _exponential_of(-integer * integer, 2 * exponent, places)
    # 2 / sqrt(pi) = sqrt(2 / (pi/2))
    root = math.isqrt((1 << 3 * places + 1) // half_pi(places))
    product = shifted(series * scaled * root, power - 2 * places)
    return (product if integer > 0 else -product), -places


def _erf_limit(value: float) -> float | None:
    if math.isnan(value) or value == 0.0:
        return value
    return math.copysign(1.0, value) if abs(value) > 6.0 else None


def _rsqrt(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += integer.bit_length()
    odd = exponent & 1
    root = math.isqrt((1 << 2 * places) // (integer << odd))
    return root, -places - ((exponent - odd) >> 1)


def _rsqrt_limit(value: float) -> float | None:
    if value == 0.0:
        return math.copysign(math.inf, value)
    if math.isnan(value) or value < 0.0:
        return math.nan
    return 0.0 if value == math.inf else None


EXP: Final = ExactMap("exp", _exp_limit, _exp)
EXPM1: Final = ExactMap("expm1", _expm1_limit, _expm1)
LN: Final = ExactMap("ln", _ln_limit, logarithm_of)
LOG1P: Final = ExactMap("log1p", _log1p_limit, _log1p)
TANH: Final = ExactMap("tanh", _tanh_limit, _tanh)
LOGISTIC: Final = ExactMap("logistic", _logistic_limit, _logistic)
SIN: Final = ExactMap("sin", _sin_limit, _sin)
COS: Final = ExactMap("cos", _cos_limit, _cos)
ERF: Final = ExactMap("erf", _erf_limit, _erf)
RSQRT: Final = ExactMap("rsqrt", _rsqrt_limit, _rsqrt)
