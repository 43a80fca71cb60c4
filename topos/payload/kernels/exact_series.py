"""Series: elementary functions of fixed-point integers, each with a proven error.

A fixed-point number of `places` is an integer n that stands for n / 2**places. Shifts and
divisions round down, each by less than one unit of the last place; the guard places below
absorb the sum of those errors.
"""

from __future__ import annotations

import functools
import math

_HALVINGS = 8
_GUARD = 24


def shifted(integer: int, places: int) -> int:
    """Returns integer * 2**places, rounded down."""
    return integer << places if places >= 0 else integer >> -places


def _inverse_tangent(denominator: int, places: int, sign: int) -> int:
    """Returns atan(1 / denominator), or atanh where `sign` is 1, within a unit a term."""
    power = (1 << places) // denominator
    total, divisor, factor, square = 0, 1, 1, denominator * denominator
    while power:
        total += factor * (power // divisor)
        power //= square
        divisor += 2
        factor *= sign
    return total


@functools.lru_cache(maxsize=64)
def natural_log_of_two(places: int) -> int:
    """Returns ln 2 within one unit: 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    inner = places + _GUARD
    total = 18 * _inverse_tangent(26, inner, 1)
    total -= 2 * _inverse_tangent(4801, inner, 1)
    total += 8 * _inverse_tangent(8749, inner, 1)
    return total >> _GUARD


@functools.lru_cache(maxsize=256)
def half_pi(places: int) -> int:
    """Returns pi/2 within one unit, by Machin's formula 8 atan(1/5) - 2 atan(1/239)."""
    inner = places + _GUARD
    total = 8 * _inverse_tangent(5, inner, -1) - 2 * _inverse_tangent(239, inner, -1)
    return total >> _GUARD


def exponential(argument: int, places: int) -> tuple[int, int]:
    """Returns (n, k) with e**argument = n / 2**places * 2**k within two units, n near 2**places.

    The argument has `places` + 24 places of its own and is below 2**12 in magnitude.
    """
    inner = places + _GUARD
    two = natural_log_of_two(inner)
    power = (2 * argument + two) // (2 * two)
    # The halved remainder is below 2**-9; squaring undoes the halvings and doubles the relative
    # error each time, which is what eight of the guard places are for.
    remainder = (argument - power * two) >> _HALVINGS
    total = term = 1 << inner
    count = 1
    while term not in (0, -1):
        term = (term * remainder >> inner) // count
        total += term
        count += 1
    for _ in range(_HALVINGS):
        total = total * total >> inner
    return total >> _GUARD, power


def logarithm(integer: int, places: int) -> int:
    """Returns ln(integer / 2**places) within 2**4 units for an argument in [1/2, 2].

    One float64 guess y, then ln m = y + ln(1 + t) with t = m e**-y - 1, which is tiny.
    """
    guess = math.log(shifted(integer, 60 - places) / 2**60)
    whole = round(guess * 2**56)
    scale, power = exponential(shifted(-whole, places + _GUARD - 56), places)
    small = shifted(integer * scale, power - places) - (1 << places)
    total, term, count = 0, small, 1
    while term not in (0, -1):
        total += term // count if count & 1 else -(term // count)
        term = term * small >> places
        count += 1
    return shifted(whole, places - 56) + total


def sine(argument: int, places: int) -> int:
    """Returns the sine of an argument below 1 in magnitude, within 2**6 units."""
    return _alternating(argument, argument, places, 2)


def cosine(argument: int, places: int) -> int:
    """Returns the cosine of an argument below 1 in magnitude, within 2**6 units."""
    return _alternating(1 << places, argument, places, 1)


def _alternating(first: int, argument: int, places: int, step: int) -> int:
    square = argument * argument >> places
    total = term = first
    while term not in (0, -1):
        term = -(term * square >> places) // (step * (step + 1))
        total += term
        step += 2
    return total


def error_integral(argument: int, places: int) -> int:
    """Returns the sum of 2**n x**(2n+1) / (2n+1)!!, for x in [0, 8).

    It is e**(x*x) times the integral of e**(-t*t) from 0 to x. Each of its fewer than 2**9 terms
    loses two units, which then grow as the terms do: in all 2**-(places - 12) of the sum, and
    2**12 units.
    """
    square = argument * argument >> (places - 1)
    total = term = argument
    divisor = 3
    while term:
        term = (term * square >> places) // divisor
        total += term
        divisor += 2
    return total
