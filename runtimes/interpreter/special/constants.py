"""Constants: numbers of 33 digits, each as a pair of float64, and the Bernoulli numbers.

The digits are those of the NIST Digital Library of Mathematical Functions and of a computation in
80 digits; the sum of a pair is within 2**-106 of the number, relatively.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb
from typing import Final

from topos.payload.kernels.pairs import Constant

__all__ = [
    "EULER",
    "HALF_LN_TWO_PI",
    "LN_PI",
    "LN_TWO",
    "PI",
    "TWO_OVER_ROOT_PI",
    "bernoulli",
    "pair_of",
]


def pair_of(number: str | Fraction) -> Constant:
    """Returns the pair nearest to a number, given exactly or by its digits."""
    exact = Fraction(number)
    head = float(exact)
    return head, float(exact - Fraction(head))


@cache
def bernoulli(index: int) -> Fraction:
    """Returns the Bernoulli number of an even index, by the recurrence of DLMF 24.5.3."""
    if index == 0:
        return Fraction(1)
    # Of the odd ones only the first, -1/2, is not zero.
    total = sum(
        (comb(index + 1, even) * bernoulli(even) for even in range(0, index, 2)), Fraction()
    )
    return (Fraction(index + 1, 2) - total) / (index + 1)


PI: Final = pair_of("3.14159265358979323846264338327950288419717")
LN_TWO: Final = pair_of("0.693147180559945309417232121458176568075500")
LN_PI: Final = pair_of("1.14472988584940017414342735135305871164729")
HALF_LN_TWO_PI: Final = pair_of("0.918938533204672741780329736405617639861397")
EULER: Final = pair_of("0.577215664901532860606512090082402431042159")
TWO_OVER_ROOT_PI: Final = pair_of("1.12837916709551257389615890312154517168810")
