"""How operations round: what a sound runtime may do to their floating-point results.

A definition declares one of these rules as `rounding`. A rule names what runtimes are free to do,
in units in the last place of the result's element; what to make of it is for others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


class Rounding:
    """What all rules share."""


@dataclass(frozen=True, slots=True)
class Exact(Rounding):
    """Every runtime gives the same bits."""


@dataclass(frozen=True, slots=True)
class Once(Rounding):
    """The exact result rounded once, so that a representable one is exact.

    `exact` is numpy's function of the operands, which a wider element holds with no error.
    """

    exact: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Units(Rounding):
    """An approximation to `count` units of the result, and `of_one` units of the number one.

    Of an operand that is smaller than one, these are units of the operand. Where it is
    `complex_alone`, real numbers are exact.
    """

    count: float
    of_one: float = 0.0
    complex_alone: bool = False


@dataclass(frozen=True, slots=True)
class Sums(Rounding):
    """Terms that are added in any order; of `products`, each of which may round by itself."""

    products: bool = False


@dataclass(frozen=True, slots=True)
class Transform(Rounding):
    """A fast Fourier transform, over the lengths that the attribute `lengths` holds."""

    lengths: str


@dataclass(frozen=True, slots=True)
class OfOperands(Rounding):
    """The exact result of operands that are off by `units`, and `of_largest` of their largest."""

    units: float
    of_largest: float


@dataclass(frozen=True, slots=True)
class OfBody(Rounding):
    """What the last region, applied to many elements in any order, makes of its own rounding."""


@dataclass(frozen=True, slots=True)
class Within(Rounding):
    """Only what stands in its regions, or in the function that it calls, rounds."""


EXACT: Final[Rounding] = Exact()
