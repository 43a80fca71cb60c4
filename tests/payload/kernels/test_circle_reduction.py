"""The reduction of the circle equals integer arithmetic with 1400 bits of pi."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels.circular import LIMBS, LOWEST_EXPONENT, reduced

Array = npt.NDArray[Any]

with gmpy2.context(precision=1500):
    RATIO = Fraction(*map(int, (256 / gmpy2.const_pi()).as_integer_ratio()))


def nearest_to_a_multiple(exponent: int) -> float:
    """Returns the m 2**exponent, m of 53 bits, that is next to a multiple of pi/2.

    The best m are denominators of convergents of 2**exponent 2/pi, by their theory.
    """
    fraction = RATIO / 128 * Fraction(2) ** exponent % 1
    before, denominator = 0, 1
    while fraction:
        whole = int(1 / fraction)
        before, denominator, last = denominator, whole * denominator + before, denominator
        fraction = 1 / fraction - whole
        if denominator >= 1 << 53:
            break
    return float(last * (((1 << 53) - 1) // last)) * 2.0**exponent


def distance(values: Array, limbs: int) -> tuple[list[Fraction], list[Fraction]]:
    """Returns how far n + f is from x 256/pi modulo 512, and the exact f."""
    count, (head, tail) = reduced(values, limbs)
    rows = zip(values.tolist(), count.tolist(), head.tolist(), tail.tolist(), strict=True)
    misses, rests = [], []
    for value, steps, high, low in rows:
        exact = Fraction(value) * RATIO - steps
        exact -= round(exact / 512) * 512
        misses.append(abs(exact - Fraction(high) - Fraction(low)))
        rests.append(abs(exact))
    return misses, rests


@pytest.mark.parametrize("limbs", [5, LIMBS])
def test_every_exponent_is_reduced_within_its_bound(limbs: int) -> None:
    generator = np.random.default_rng(1)
    exponents = np.arange(LOWEST_EXPONENT - 1023, 1024)
    values = np.ldexp(generator.uniform(1.0, 2.0, exponents.size), exponents)
    misses, rests = distance(values, limbs)
    slack = Fraction(2) ** (62 - 32 * limbs)
    assert all(miss <= slack + rest / 2**105 for miss, rest in zip(misses, rests, strict=True))
    assert max(rests) <= Fraction(1, 2) + Fraction(1, 2**30)


def test_the_nearest_numbers_to_multiples_of_a_quarter_keep_their_bits() -> None:
    values = np.array([nearest_to_a_multiple(exponent) for exponent in range(0, 971, 11)])
    values = np.append(values, 6381956970095103.0 * 2.0**797)
    misses, rests = distance(values, LIMBS)
    assert min(rests) < Fraction(1, 2**53)
    assert all(miss <= rest / 2**104 for miss, rest in zip(misses, rests, strict=True))
