"""Hyperbolic functions of real numbers: sinh, cosh, and the inverses of sinh, cosh and tanh.

Each is a map whose bracket is a wide number with its error.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels import exact_curves
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.mapping import Ends, Map
from topos.runtimes.interpreter.special.circular import IDENTICAL
from topos.runtimes.interpreter.special.wide import (
    LN_TWO,
    Wide,
    constant,
    enclosed,
    expm1,
    exponential,
    log1p,
    logarithm,
    root,
    where,
)

__all__ = ["ACOSH", "ASINH", "ATANH", "COSH", "SINH", "scaled_pair", "sinh_cosh"]

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
