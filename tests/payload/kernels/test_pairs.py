"""Pairs are within their bounds of exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.payload.kernels.double_double import (
    Pair,
    pair_product,
    pair_quotient,
    pair_sum,
    pair_times,
)

Array = npt.NDArray[Any]
Exact = Callable[[Fraction, Fraction], Fraction]

UNIT = Fraction(1, 2**53) ** 2


def random_pair(count: int, seed: int) -> Pair:
    generator = np.random.default_rng(seed)
    head = np.ldexp(generator.uniform(-2.0, 2.0, count), generator.integers(-30, 30, count))
    tail = head * generator.uniform(-(2.0**-54), 2.0**-54, count)
    return head, tail


def exact_values(pair: Pair) -> list[Fraction]:
    return [Fraction(h) + Fraction(t) for h, t in zip(*map(Array.tolist, pair), strict=True)]


FIRST, SECOND = random_pair(1000, 1), random_pair(1000, 2)
# What a sum of these leaves is of the order of the tails.
CANCELLING = -FIRST[0], FIRST[1] * 0.75
CASES: list[tuple[Callable[[Pair, Pair], Pair], Exact, Pair, float]] = [
    (pair_sum, lambda a, b: a + b, SECOND, 3.1),
    (pair_sum, lambda a, b: a + b, CANCELLING, 3.1),
    (pair_product, lambda a, b: a * b, SECOND, 5.0),
    (lambda a, b: pair_times(a, b[0]), lambda a, b: a * b, (SECOND[0], SECOND[0] * 0.0), 3.0),
    (pair_quotient, lambda a, b: a / b, SECOND, 64.0),
]


@pytest.mark.parametrize(("operation", "exact", "second", "units"), CASES)
def test_results_are_within_their_bounds(
    operation: Callable[[Pair, Pair], Pair], exact: Exact, second: Pair, units: float
) -> None:
    result = operation(FIRST, second)
    assert np.all(np.abs(result[1]) <= 2.0**-53 * np.abs(result[0]))
    rows = zip(exact_values(FIRST), exact_values(second), exact_values(result), strict=True)
    for a, b, found in rows:
        truth = exact(a, b)
        assert abs(found - truth) <= Fraction(units) * UNIT * abs(truth)
