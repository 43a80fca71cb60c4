"""Tables: how the constants of the float64 kernels are computed on first use, from integers.

A real number is held as head + tail, two float64 numbers: the head is the number rounded to
some bits, the tail what is left, rounded to 53. Constants are correct to 2**-100 or better, those
of the refined brackets to 2**-105.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import (
    Constant,
    Pair,
    fast_two_sum,
    pair_product,
    pair_sum,
    two_sum,
)

PLACES: Final = 192


def parts(entry: int, *bits: int) -> tuple[float, ...]:
    """Returns fixed-point `entry` as a sum of floats of at most so many bits, largest first."""
    found = []
    for count in bits:
        # Rounding to nearest keeps the next part, and so every later error, half a unit small.
        head = rounded_to(entry, max(0, abs(entry).bit_length() - count))
        found.append(head / (1 << PLACES))
        entry -= head
    return tuple(found)


def rounded_to(entry: int, unit: int) -> int:
    """Returns the multiple of 2**unit that is nearest to fixed-point `entry`."""
    return (entry + (1 << unit >> 1)) >> unit << unit


def columns(entries: Iterable[tuple[float, ...]]) -> list[Array]:
    """Returns the rows of a table as an array for each column."""
    return [np.array(column) for column in zip(*entries, strict=True)]


def pairs(entries: Iterable[int]) -> Pair:
    """Returns fixed-point entries as one pair."""
    head, tail = columns(parts(entry, 53, 53) for entry in entries)
    return head, tail


@cache
def inverse(integer: int) -> Constant:
    """Returns 1 / integer."""
    head, tail = parts((1 << PLACES) // integer, 53, 53)
    return head, tail


def pair_series(argument: Pair, quotient: Array, denominators: Sequence[int]) -> Pair:
    """Returns 1/last + a (... + a (1/first + a quotient)) for the argument a, a Taylor series."""
    first, *others = denominators
    head, lost = two_sum(argument[0] * quotient, inverse(first)[0])
    series = fast_two_sum(head, lost + inverse(first)[1])
    for integer in others:
        series = pair_sum(pair_product(argument, series), inverse(integer))
    return series
