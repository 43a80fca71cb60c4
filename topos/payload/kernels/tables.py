"""Tables: the constants of the float64 kernels, computed on first use in integer arithmetic.

A real number is held as head + tail, two float64 numbers: the head is the number rounded to
some bits, the tail what is left, rounded to 53. Constants are correct to 2**-100 or better.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.exact_series import (
    cosine,
    exponential,
    half_pi,
    logarithm,
    natural_log_of_two,
    shifted,
    sine,
)

__all__ = [
    "PLACES",
    "CircleTable",
    "ExponentialTable",
    "LogarithmTable",
    "circle_table",
    "exponential_table",
    "logarithm_entries",
    "logarithm_table",
    "parts",
    "sine_of_step",
]

PLACES: Final = 192
_TURN: Final = 848


def parts(entry: int, *bits: int) -> tuple[float, ...]:
    """Returns fixed-point `entry` as a sum of floats of at most so many bits, largest first."""
    found = []
    for count in bits:
        unit = max(0, abs(entry).bit_length() - count)
        # Rounding to nearest keeps the next part, and so every later error, half a unit small.
        head = _rounded(entry, unit) << unit
        found.append(head / (1 << PLACES))
        entry -= head
    return tuple(found)


def _rounded(entry: int, unit: int) -> int:
    return (entry + (1 << unit >> 1)) >> unit


def _columns(entries: Sequence[tuple[float, ...]]) -> list[Array]:
    return [np.array(column) for column in zip(*entries, strict=True)]


class ExponentialTable(NamedTuple):
    """2**(i/4096) as head + tail, and ln2/4096 in three parts, the first two of 30 bits."""

    head: Array
    tail: Array
    step: tuple[float, ...]
    steps_per_unit: float


@functools.cache
def exponential_table() -> ExponentialTable:
    """Returns the table of the 4096 binary fractions of a power of two."""
    two = natural_log_of_two(PLACES + 36)
    coarse = [_power_of_two(two, i << 6) for i in range(64)]
    fine = [_power_of_two(two, i) for i in range(64)]
    entries = [parts(shifted(a * b, -PLACES), 53, 53) for a in coarse for b in fine]
    step = parts(shifted(two, -48), 30, 30, 53)
    head, tail = _columns(entries)
    return ExponentialTable(head, tail, step, 1.0 / sum(step))


def _power_of_two(two: int, index: int) -> int:
    scaled, power = exponential(shifted(two * index, -24), PLACES)
    return shifted(scaled, power)


class LogarithmTable(NamedTuple):
    """For each of 2048 intervals of [1, 2) a 12-bit c near 1/m, and -ln c as head + tail.

    From interval `turn` on the logarithm is that of m/2, so that it is small near 1 from both
    sides and the first and last intervals, where c is 1 and 1/2, have the logarithm 0. Heads
    are multiples of 2**-42, as is the head of ln 2: sums of heads are exact.
    """

    reciprocal: Array
    head: Array
    tail: Array
    turn: int
    two: tuple[float, float]


@functools.cache
def logarithm_table() -> LogarithmTable:
    """Returns the table; |m c - 1| is below 2**-11 in every interval."""
    pairs = [_on_grid(entry) for entry in logarithm_entries()]
    head, tail = _columns(pairs)
    reciprocal = np.array([numerator / 4096 for numerator in _numerators()])
    return LogarithmTable(reciprocal, head, tail, _TURN, _on_grid(natural_log_of_two(PLACES)))


def _numerators() -> list[int]:
    inner = [round(4096 * 4096 / (4097 + 2 * i)) for i in range(1, 2047)]
    return [4096, *inner, 2048]


@functools.cache
def logarithm_entries() -> tuple[int, ...]:
    """Returns the fixed-point -ln c, or -ln 2c from the turn on, of all intervals."""
    doubled = [n * 2 if i >= _TURN else n for i, n in enumerate(_numerators())]
    return tuple(-logarithm(n << (PLACES - 12), PLACES) if n != 4096 else 0 for n in doubled)


def _on_grid(entry: int) -> tuple[float, float]:
    head = _rounded(entry, PLACES - 42) << (PLACES - 42)
    return head / (1 << PLACES), (entry - head) / (1 << PLACES)


class CircleTable(NamedTuple):
    """sin(i pi/256) for 512 steps round the circle, heads of 26 bits, and the step in four parts.

    The first three parts have 26 bits, so that their products with 26-bit counts are exact;
    `whole` is the nearest float64.
    """

    head: Array
    tail: Array
    whole: Array
    step: tuple[float, ...]
    steps_per_unit: float


@functools.cache
def circle_table() -> CircleTable:
    """Returns the table of the sines of all multiples of pi/256."""
    half = half_pi(PLACES + 8)
    first = [sine_of_step(half, i) for i in range(129)]
    quarter = [*first, *first[127:0:-1]]
    entries = [*quarter, *(-entry for entry in quarter)]
    step = parts(shifted(half, -15), 26, 26, 26, 53)
    pairs = [parts(entry, 26, 53) for entry in entries]
    head, tail = _columns(pairs)
    return CircleTable(head, tail, head + tail, step, 1.0 / sum(step))


def sine_of_step(half: int, index: int) -> int:
    """Returns the fixed-point sine of index pi/256, up to 128, from pi/2 with 8 more places."""
    if index > 64:
        return cosine(shifted(half * (128 - index), -15), PLACES)
    return sine(shifted(half * index, -15), PLACES)
