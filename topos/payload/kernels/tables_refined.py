"""Refined tables: the constants of the second phase, as pairs correct to 2**-105.

Each is computed on first use, which is when a first lane is left open.
"""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.exact_series import half_pi, natural_log_of_two, shifted
from topos.payload.kernels.pairs import Constant, Pair
from topos.payload.kernels.tables import (
    PLACES,
    logarithm_entries,
    logarithm_table,
    parts,
    sine_of_step,
)
from topos.payload.kernels.tables_expansion import CENTERS_PER_UNIT, erf_about

__all__ = [
    "REFINED_DEGREE",
    "CirclePairs",
    "LogarithmPairs",
    "circle_pairs",
    "erf_pairs",
    "exponential_step",
    "inverse",
    "logarithm_pairs",
]

REFINED_DEGREE: Final = 15


def _pair(entry: int) -> Constant:
    head, tail = parts(entry, 53, 53)
    return head, tail


def _pairs(entries: list[int]) -> Pair:
    heads, tails = zip(*map(_pair, entries), strict=True)
    return np.array(heads), np.array(tails)


@functools.cache
def inverse(integer: int) -> Constant:
    """Returns 1 / integer."""
    return _pair((1 << PLACES) // integer)


@functools.cache
def exponential_step() -> tuple[float, ...]:
    """Returns ln2/4096 in four parts, the first three of 30 bits."""
    return parts(shifted(natural_log_of_two(PLACES + 36), -48), 30, 30, 30, 53)


class LogarithmPairs(NamedTuple):
    """What the heads of the table of logarithms lack of -ln c, and that of ln 2 of ln 2."""

    rest: Pair
    two: Constant


@functools.cache
def logarithm_pairs() -> LogarithmPairs:
    """Returns the rests of the table, each below 2**-43."""
    table, one = logarithm_table(), 1 << PLACES
    rests = [
        entry - int(head * one)
        for entry, head in zip(logarithm_entries(), table.head.tolist(), strict=True)
    ]
    two = natural_log_of_two(PLACES) - int(table.two[0] * one)
    return LogarithmPairs(_pairs(rests), _pair(two))


class CirclePairs(NamedTuple):
    """sin(i pi/256) for 512 steps round the circle, and the step pi/256."""

    sine: Pair
    step: Pair


@functools.cache
def circle_pairs() -> CirclePairs:
    """Returns the sines of all multiples of pi/256."""
    half = half_pi(PLACES + 8)
    first = [sine_of_step(half, i) for i in range(129)]
    quarter = [*first, *first[127:0:-1]]
    entries = [*quarter, *(-entry for entry in quarter)]
    return CirclePairs(_pairs(entries), _pairs([shifted(half, -15)]))


@functools.cache
def erf_pairs() -> tuple[Pair, ...]:
    """Returns the coefficients of erf about every center up to 6, a pair of rows a power."""
    centers = range(6 * CENTERS_PER_UNIT + 1)
    columns = [erf_about(center, REFINED_DEGREE) for center in centers]
    return tuple(_pairs(list(row)) for row in zip(*columns, strict=True))
