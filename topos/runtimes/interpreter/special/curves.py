"""Circular and hyperbolic functions of real numbers: tan, sinh, cosh, and the inverses of all.

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
    LN_TWO,
    PI,
    Wide,
    constant,
    enclosed,
    expm1,
    exponential,
    log1p,
    logarithm,
    root,
    sine_cosine,
    where,
)

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


# From here on e**-x is below 2**-115 of e**x.
_ONE_SIDED: Final = 40.0
_HUGE: Final = 2.0**300
_SCALED: Final = 600.0
_END: Final = 900.0
_SHIFT: Final = 300


def sinh_cosh(magnitude: Array) -> tuple[Wide, Wide]:
    """Returns sinh x and cosh x for 0 <= x, which are infinite where they leave the range.

    With m = e**x - 1 they are (m + m / (m + 1)) / 2 and 1 + m**2 / (m + 1) / 2.
    """
    wide = magnitude > _ONE_SIDED
    growth = expm1(np.where(wide, 1.0, magnitude))
    part = growth / (growth + 1.0)
    # Half is taken off before it could overflow: e**x / 2 = e**(x - ln 2).
    bounded = np.minimum(np.where(wide, magnitude, 50.0), 750.0)
    large = exponential(Wide(bounded) - constant(LN_TWO))
    sine = (growth + part).scaled(0.5)
    cosine = (growth * part).scaled(0.5) + 1.0
    return where(wide, large, sine), where(wide, large, cosine)


def _bracket_sinh(values: Array) -> Ends:
    return _scaled_bracket(0, values, values, np.copysign(1.0, values))


def _bracket_cosh(values: Array) -> Ends:
    return _scaled_bracket(1, values, np.ones_like(values), np.ones_like(values))


def _scaled_bracket(side: int, values: Array, tiny: Array, sign: Array) -> Ends:
    """Encloses one of the two; `tiny` are the results of numbers next to 0."""
    magnitude = np.abs(values)
    pair, scale = scaled_pair(np.where(magnitude == magnitude, magnitude, 1.0))
    known = ~(magnitude >= IDENTICAL)
    low, high = enclosed(pair[side].scaled(sign), known, np.where(values == values, tiny, values))
    return low * scale, high * scale


def scaled_pair(magnitude: Array) -> tuple[tuple[Wide, Wide], Array]:
    """Returns sinh x and cosh x over a power of two, and that power: only the whole overflows."""
    far = magnitude > _SCALED
    if not far.any():
        return sinh_cosh(magnitude), np.ones_like(magnitude)
    exponent = Wide(np.where(far, np.minimum(magnitude, _END), _SCALED))
    large = exponential(exponent - constant(LN_TWO) * float(_SHIFT + 1))
    sine, cosine = sinh_cosh(np.where(far, 1.0, magnitude))
    return (where(far, large, sine), where(far, large, cosine)), np.where(far, 2.0**_SHIFT, 1.0)


def _bracket_asinh(values: Array) -> Ends:
    """Encloses ln(1 + x + x**2 / (1 + sqrt(1 + x**2))) for x >= 0, with the sign of x."""
    magnitude = np.abs(values)
    x = Wide(np.where(magnitude < _HUGE, magnitude, 1.0))
    square = x * x
    near = log1p(x + square / (root(square + 1.0) + 1.0))
    number = where(magnitude < _HUGE, near, _of_double(magnitude))
    known = ~((magnitude >= IDENTICAL) & (magnitude < np.inf))
    return enclosed(number.scaled(np.copysign(1.0, values)), known, values)


def _bracket_acosh(values: Array) -> Ends:
    """Encloses ln(1 + t + sqrt(t (t + 2))) for t = x - 1."""
    inside = (values >= 1.0) & (values < _HUGE)
    over = Wide(np.where(inside, values, 2.0)) - 1.0
    number = where(inside, log1p(over + root(over * (over + 2.0))), _of_double(values))
    known = ~((values > 1.0) & (values < np.inf))
    results = np.where(values == 1.0, 0.0, np.where(values == np.inf, values, np.nan))
    return enclosed(number, known, results)


def _of_double(values: Array) -> Wide:
    """Returns ln 2x for the finite values from `_HUGE` on, and what does not matter for others."""
    finite = (values >= _HUGE) & (values < np.inf)
    return logarithm(Wide(np.where(finite, values, 1.0))) + constant(LN_TWO)


def _bracket_atanh(values: Array) -> Ends:
    """Encloses ln((1 + x) / (1 - x)) / 2."""
    magnitude = np.abs(values)
    inside = (magnitude >= IDENTICAL) & (magnitude < 1.0)
    x = Wide(np.where(inside, magnitude, 0.5))
    number = log1p((x + x) / (1.0 - x)).scaled(np.copysign(0.5, values))
    results = np.where(magnitude < IDENTICAL, values, np.copysign(np.inf, values))
    return enclosed(number, ~inside, np.where(magnitude <= 1.0, results, np.nan))


SINH: Final = Map(exact_curves.SINH, np.sinh, _bracket_sinh, _bracket_sinh)
COSH: Final = Map(exact_curves.COSH, np.cosh, _bracket_cosh, _bracket_cosh)
ASINH: Final = Map(exact_curves.ASINH, np.arcsinh, _bracket_asinh, _bracket_asinh)
ACOSH: Final = Map(exact_curves.ACOSH, np.arccosh, _bracket_acosh, _bracket_acosh)
ATANH: Final = Map(exact_curves.ATANH, np.arctanh, _bracket_atanh, _bracket_atanh)
