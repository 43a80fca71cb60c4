"""Hyperbolic functions of real numbers: sinh, cosh, and the inverses of sinh, cosh and tanh.

Each takes and returns float64 arrays, and rounds once from a wide number.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.chlo.circular import IDENTICAL
from topos.runtimes._stablehlo.chlo.constants import LN_TWO
from topos.runtimes._stablehlo.chlo.wide import (
    Wide,
    constant,
    expm1,
    exponential,
    log1p,
    logarithm,
    root,
    where,
)

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "sinh_cosh"]

Array = npt.NDArray[Any]

# From here on e**-x is below 2**-115 of e**x.
_ONE_SIDED: Final = 40.0
_HUGE: Final = 2.0**300


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


def sinh(values: Array) -> Array:
    """Returns (e**x - e**-x) / 2."""
    magnitude = np.abs(values)
    safe = np.where(magnitude == magnitude, magnitude, 1.0)
    result = np.where(magnitude < IDENTICAL, magnitude, sinh_cosh(safe)[0].value())
    return np.where(values == values, np.copysign(result, values), np.nan)


def cosh(values: Array) -> Array:
    """Returns (e**x + e**-x) / 2."""
    magnitude = np.abs(values)
    safe = np.where(magnitude == magnitude, magnitude, 1.0)
    return np.where(values == values, sinh_cosh(safe)[1].value(), np.nan)


def asinh(values: Array) -> Array:
    """Returns the inverse of sinh, ln(1 + x + x**2 / (1 + sqrt(1 + x**2))) for x >= 0."""
    magnitude = np.abs(values)
    x = Wide(np.where(magnitude < _HUGE, magnitude, 1.0))
    square = x * x
    near = log1p(x + square / (root(square + 1.0) + 1.0)).value()
    result = np.where(magnitude < _HUGE, near, _of_double(magnitude))
    result = np.where(magnitude < IDENTICAL, magnitude, result)
    return np.where(values == values, np.copysign(result, values), np.nan)


def acosh(values: Array) -> Array:
    """Returns ln(1 + t + sqrt(t (t + 2))) for t = x - 1; NaN below 1."""
    inside = (values >= 1.0) & (values < _HUGE)
    over = Wide(np.where(inside, values, 2.0)) - 1.0
    near = log1p(over + root(over * (over + 2.0))).value()
    result = np.where(inside, near, _of_double(values))
    return np.where(values >= 1.0, result, np.nan)


def _of_double(values: Array) -> Array:
    """Returns ln 2x for the values from `_HUGE` on, and what does not matter for others."""
    finite = (values >= _HUGE) & (values < np.inf)
    result = logarithm(Wide(np.where(finite, values, 1.0))) + constant(LN_TWO)
    return np.where(finite, result.value(), np.inf)


def atanh(values: Array) -> Array:
    """Returns ln((1 + x) / (1 - x)) / 2; infinite at 1 and -1, NaN beyond."""
    magnitude = np.abs(values)
    inside = magnitude < 1.0
    x = Wide(np.where(inside, magnitude, 0.5))
    result = log1p((x + x) / (1.0 - x)).scaled(0.5).value()
    result = np.where(magnitude < IDENTICAL, magnitude, result)
    result = np.where(inside, result, np.where(magnitude == 1.0, np.inf, np.nan))
    return np.where(magnitude <= 1.0, np.copysign(result, values), np.nan)
