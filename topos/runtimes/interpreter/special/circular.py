"""Circular functions of real numbers: tan, and the inverses of sin, cos and tan.

Each is a map whose bracket is a wide number with its error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np

from topos.payload.kernels import exact_curves
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.circular import circular
from topos.payload.kernels.double_double import fast_two_sum, pair_product, pair_quotient, pair_sum
from topos.payload.kernels.exact import ExactMap
from topos.payload.kernels.mapping import Approximation, Ends, Map, ends
from topos.payload.kernels.rounding import BINARY64
from topos.runtimes.interpreter.special.wide import (
    ERROR,
    PI,
    Wide,
    constant,
    enclosed,
    root,
    sine_cosine,
    where,
)

__all__ = [
    "ACOS",
    "ASIN",
    "ATAN",
    "IDENTICAL",
    "TAN",
    "Arctangent",
    "arctangent",
    "cofactor",
    "quick_arctangent",
    "refined_arctangent",
]

Arctangent = Callable[[Wide, Wide], tuple[Wide, Array]]

# Below, x + x**3/3 and the like round to x.
IDENTICAL: Final = 2.0**-28
_LOW: Final = 2.0**-900
_LIFT: Final = 2.0**120
_STEPS: Final = 256
_REACH: Final = 2.0**18


def arctangent(opposite: Wide, adjacent: Wide) -> Wide:
    """Returns the angle of the point (adjacent, opposite), neither negative and not both zero.

    It is t + atan((y cos t - x sin t) / (x cos t + y sin t)) for any t; of the rounded angle t
    the rest is so small that its arctangent is itself.
    """
    rise, run = _leveled(opposite, adjacent)
    angle = _guess(rise.head, run.head)
    flat = angle < _LOW
    # So small a quotient is its own arctangent, and needs products in the normal range.
    rise = rise.scaled(np.where(flat, _LIFT, 1.0))
    angle = np.where(flat, 0.0, angle)
    sine, cosine = sine_cosine(Wide(angle))
    rest = (rise * cosine - run * sine) / (run * cosine + rise * sine)
    return (rest + angle).scaled(np.where(flat, 1.0 / _LIFT, 1.0))


def quick_arctangent(opposite: Wide, adjacent: Wide) -> tuple[Wide, Array]:
    """Returns what `arctangent` does within an error of 2**-62 of the angle, and that error.

    Sine and cosine of the guess are within 2**-64 of themselves, and the rest, of the size of the
    guess's error, needs few digits.
    """
    rise, run = _leveled(opposite, adjacent)
    angle = _guess(rise.head, run.head)
    sine, cosine = (circular(angle, turn) for turn in (0, 128))
    (high, low), (left, right) = (fast_two_sum(*each[:2]) for each in (sine, cosine))
    above = pair_sum(pair_product((left, right), rise.pair), pair_product((-high, -low), run.pair))
    rest = (above[0] + above[1]) / (run.head * left + rise.head * high)
    # Products of so small an angle's digits leave the normal range.
    error = np.where(angle > _LOW, angle * 2.0**-62, np.inf)
    return Wide(*fast_two_sum(angle, rest)), error


def _leveled(opposite: Wide, adjacent: Wide) -> tuple[Wide, Wide]:
    """Returns both scaled so that the larger one is about 1."""
    largest = np.maximum(opposite.head, adjacent.head)
    # Twice the half of the exponent: its reciprocal may be out of range.
    scale = np.ldexp(1.0, -np.frexp(largest)[1] // 2)
    return opposite.scaled(scale).scaled(scale), adjacent.scaled(scale).scaled(scale)


def _guess(rise: Array, run: Array) -> Array:
    """Returns the angle to about 50 bits, by arithmetic alone: any machine has the same.

    It is that of the nearest quotient c of a table, and atan((q - c) / (1 + q c)) by its series.
    """
    steep = rise > run
    quotient = np.where(steep, run, rise) / np.where(steep, rise, run)
    place = np.rint(quotient * _STEPS)
    center = place * (1.0 / _STEPS)
    step = (quotient - center) / (1.0 + quotient * center)
    square = step * step
    series = step - step * square * (1 / 3 - square * (1 / 5 - square * (1 / 7)))
    angle = _table().take(place.astype(np.intp)) + series
    return np.asarray(np.where(steep, PI[0] / 2 - angle, angle))


@cache
def _table() -> Array:
    quotients = (place / _STEPS for place in range(_STEPS + 1))
    return np.array([exact_curves.ATAN.at(quotient, BINARY64) for quotient in quotients])


def cofactor(magnitude: Array) -> Wide:
    """Returns sqrt(1 - x**2) for 0 <= x <= 1."""
    one = Wide(np.ones_like(magnitude))
    return root((one - magnitude) * (one + magnitude))


def _bracket_tan(values: Array) -> Ends:
    finite = np.isfinite(values)
    sine, cosine = sine_cosine(Wide(np.where(finite, values, 1.0)))
    known = ~finite | (np.abs(values) < IDENTICAL)
    return enclosed(sine / cosine, known, np.where(finite, values, np.nan))


def _quick_tan(values: Array) -> Ends:
    inside = np.abs(values) <= _REACH
    safe = np.where(inside, values, 1.0)
    sine, cosine = (circular(safe, turn) for turn in (0, 128))
    tangent = Wide(*pair_quotient(fast_two_sum(*sine[:2]), fast_two_sum(*cosine[:2])))
    share = sine.error / np.abs(sine.head) + cosine.error / np.abs(cosine.head) + 2.0**-90
    low, high = ends(*tangent.pair, np.abs(tangent.head) * share)
    low, high = np.where(inside, low, 0.0), np.where(inside, high, 1.0)
    known = ~np.isfinite(values) | (np.abs(values) < IDENTICAL)
    results = np.where(np.isfinite(values), values, np.nan)
    return np.where(known, results, low), np.where(known, results, high)


def _bracket_asin(arctangent: Arctangent, values: Array) -> Ends:
    inside = np.abs(values) <= 1.0
    safe = np.where(inside, np.abs(values), 0.5)
    known = ~inside | (safe < IDENTICAL)
    angle, error = arctangent(Wide(safe), cofactor(safe))
    sign, results = np.copysign(1.0, values), np.where(inside, values, np.nan)
    return enclosed(angle.scaled(sign), known, results, error)


def _bracket_acos(arctangent: Arctangent, values: Array) -> Ends:
    inside = np.abs(values) <= 1.0
    safe = np.where(inside, np.abs(values), 0.5)
    angle, error = arctangent(cofactor(safe), Wide(safe))
    angle = where(values < 0.0, constant(PI) - angle, angle)
    known = ~inside | (values == 1.0)
    return enclosed(angle, known, np.where(inside, 0.0, np.nan), error)


def _bracket_atan(arctangent: Arctangent, values: Array) -> Ends:
    # From 2**1000 on the angle is all but pi/2.
    safe = np.where(values == values, np.minimum(np.abs(values), 2.0**1000), 1.0)
    angle, error = arctangent(Wide(safe), Wide(np.ones_like(values)))
    known = ~(np.abs(values) >= IDENTICAL)
    return enclosed(angle.scaled(np.copysign(1.0, values)), known, values, error)


def refined_arctangent(opposite: Wide, adjacent: Wide) -> tuple[Wide, Array]:
    """Returns `arctangent` and its error."""
    angle = arctangent(opposite, adjacent)
    return angle, angle.head * ERROR


def _by_angle(
    exact: ExactMap, approximate: Approximation, bracket: Callable[[Arctangent, Array], Ends]
) -> Map:
    return Map(
        exact, approximate, partial(bracket, quick_arctangent), partial(bracket, refined_arctangent)
    )


TAN: Final = Map(exact_curves.TAN, np.tan, _quick_tan, _bracket_tan)
ASIN: Final = _by_angle(exact_curves.ASIN, np.arcsin, _bracket_asin)
ACOS: Final = _by_angle(exact_curves.ACOS, np.arccos, _bracket_acos)
ATAN: Final = _by_angle(exact_curves.ATAN, np.arctan, _bracket_atan)
