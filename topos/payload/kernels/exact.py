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
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True, eq=False)
class ExactMap:
    """A map as mathematics knows it: its limits, and an enclosure for everything else.

    Outside `domain` the map is NaN. `known` results, and those past the arguments `above` and
    `below`, which each stand before their result, round to the same number in every format (an
    infinity, a zero, or 1), or are special. The enclosure and the limits of an `odd` map are those
    of the magnitude: the result has the sign of the argument, that of a zero too.
    """

    name: str
    enclose: Enclosure
    known: Mapping[float, float]
    above: tuple[float, float] = (math.inf, math.inf)
    below: tuple[float, float] = (-math.inf, -math.inf)
    domain: tuple[float, float] = (-math.inf, math.inf)
    odd: bool = False

    def limit(self, value: float) -> float | None:
        """Returns the result where no enclosure is needed, None elsewhere."""
        if not self.domain[0] <= value <= self.domain[1]:
            return math.nan
        size = abs(value) if self.odd else value
        found = self.known.get(size)
        if size > self.above[0]:
            found = self.above[1]
        elif size < self.below[0]:
            found = self.below[1]
        if found is None:
            return None
        # Zeros are equal: the one that a map leaves as it is keeps its sign.
        return math.copysign(found, value) if self.odd or found == value else found

    def at(self, value: float, target: Format) -> float:
        """Returns the map of `value`, correctly rounded to `target`."""
        known = self.limit(value)
        if known is not None:
            return known
        integer, exponent = dyadic(abs(value) if self.odd else value)
        result = decided(lambda places: self.enclose(integer, exponent, places), target)
        return -result if self.odd and value < 0.0 else result

    def each(self, values: Array, target: Format) -> Array:
        """Returns the map of float64 `values` (one axis), each distinct value computed once."""
        bits, inverse = np.unique(values.view(np.uint64), return_inverse=True)
        distinct = bits.view(np.float64).tolist()
        results = np.array([self.at(value, target) for value in distinct], np.float64)
        return results[inverse].astype(target.dtype)


def below_one(integer: int, exponent: int) -> int:
    """Returns how many bits a number's highest one is below the binary point, 0 for none."""
    return max(0, -integer.bit_length() - exponent)


def _exponential_of(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return exponential(shifted(integer, exponent + places + 24), places)


def _exp(integer: int, exponent: int, places: int) -> tuple[int, int]:
    scaled, power = _exponential_of(integer, exponent, places)
    return scaled, power - places


def _expm1(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += below_one(integer, exponent)
    scaled, power = _exponential_of(integer, exponent, places)
    if power < 0:
        return shifted(scaled, power) - (1 << places), -places
    return scaled - shifted(1 << places, -power), power - places


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


def _log1p(integer: int, exponent: int, places: int) -> tuple[int, int]:
    if exponent >= 0:
        return logarithm_of((integer << exponent) + 1, 0, places)
    return logarithm_of(integer + (1 << -exponent), exponent, places)


def _tanh(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += below_one(integer, exponent)
    scaled, power = _exponential_of(2 * integer, exponent, places)
    grown, one = scaled << power, 1 << places
    return ((grown - one) << places) // (grown + one), -places


def _logistic(integer: int, exponent: int, places: int) -> tuple[int, int]:
    scaled, power = _exponential_of(-abs(integer), exponent, places)
    denominator = (1 << places) + shifted(scaled, power)
    if integer > 0:
        return (1 << 2 * places) // denominator, -places
    return (scaled << places) // denominator, power - places


def _quadrant(integer: int, exponent: int, places: int) -> tuple[int, int]:
    """Returns the multiple of pi/2 nearest to x, and the rest of x with `places` places."""
    inner = places + max(0, integer.bit_length() + exponent) + 8
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
    return enclose_circular(integer, exponent, places + below_one(integer, exponent), 0)


def _cos(integer: int, exponent: int, places: int) -> tuple[int, int]:
    return enclose_circular(integer, exponent, places, 1)


def _erf(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += below_one(integer, exponent) + 8
    series = error_integral(shifted(integer, exponent + places), places)
    scaled, power = _exponential_of(-integer * integer, 2 * exponent, places)
    # 2 / sqrt(pi) = sqrt(2 / (pi/2))
    root = math.isqrt((1 << 3 * places + 1) // half_pi(places))
    return shifted(series * scaled * root, power - 2 * places), -places


def _rsqrt(integer: int, exponent: int, places: int) -> tuple[int, int]:
    places += integer.bit_length()
    odd = exponent & 1
    root = math.isqrt((1 << 2 * places) // (integer << odd))
    return root, -places - ((exponent - odd) >> 1)


FINITE: Final = (-sys.float_info.max, sys.float_info.max)
_POSITIVE: Final = (0.0, math.inf)

EXP: Final = ExactMap("exp", _exp, {0.0: 1.0}, (800.0, math.inf), (-800.0, 0.0))
EXPM1: Final = ExactMap("expm1", _expm1, {0.0: 0.0}, (800.0, math.inf), (-50.0, -1.0))
LN: Final = ExactMap(
    "ln", logarithm_of, {0.0: -math.inf, 1.0: 0.0, math.inf: math.inf}, domain=_POSITIVE
)
LOG1P: Final = ExactMap(
    "log1p", _log1p, {-1.0: -math.inf, 0.0: 0.0, math.inf: math.inf}, domain=(-1.0, math.inf)
)
TANH: Final = ExactMap("tanh", _tanh, {0.0: 0.0}, (22.0, 1.0), odd=True)
LOGISTIC: Final = ExactMap("logistic", _logistic, {0.0: 0.5}, (50.0, 1.0), (-800.0, 0.0))
SIN: Final = ExactMap("sin", _sin, {0.0: 0.0}, domain=FINITE, odd=True)
COS: Final = ExactMap("cos", _cos, {0.0: 1.0}, domain=FINITE)
ERF: Final = ExactMap("erf", _erf, {0.0: 0.0}, (6.0, 1.0), odd=True)
# Its argument is positive, or a zero whose sign the infinity has.
RSQRT: Final = ExactMap("rsqrt", _rsqrt, {0.0: math.inf, math.inf: 0.0}, domain=_POSITIVE, odd=True)
