"""Circular functions of real numbers: tan, and the inverses of sin, cos and tan.

Each takes and returns float64 arrays, and rounds once from a wide number.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.chlo.constants import PI
from topos.runtimes._stablehlo.chlo.wide import Wide, constant, root, sine_cosine

__all__ = ["IDENTICAL", "acos", "arctangent", "asin", "atan", "cofactor", "tan"]

Array = npt.NDArray[Any]

# Below, x + x**3/3 and the like round to x.
IDENTICAL: Final = 2.0**-28
_LOW: Final = 2.0**-900
_LIFT: Final = 2.0**120


def arctangent(opposite: Wide, adjacent: Wide) -> Wide:
    """Returns the angle of the point (adjacent, opposite), neither negative and not both zero.

    It is t + atan((y cos t - x sin t) / (x cos t + y sin t)) for any t; of the rounded angle t
    the rest is so small that its arctangent is itself.
    """
    largest = np.maximum(opposite.head, adjacent.head)
    # Twice the half of the exponent: its reciprocal may be out of range.
    scale = np.ldexp(1.0, -np.frexp(largest)[1] // 2)
    rise, run = opposite.scaled(scale).scaled(scale), adjacent.scaled(scale).scaled(scale)
    angle = np.arctan2(rise.head, run.head)
    flat = angle < _LOW
    # So small a quotient is its own arctangent, and needs products in the normal range.
    rise = rise.scaled(np.where(flat, _LIFT, 1.0))
    angle = np.where(flat, 0.0, angle)
    sine, cosine = sine_cosine(Wide(angle))
    rest = (rise * cosine - run * sine) / (run * cosine + rise * sine)
    return (rest + angle).scaled(np.where(flat, 1.0 / _LIFT, 1.0))


def cofactor(magnitude: Array) -> Wide:
    """Returns sqrt(1 - x**2) for 0 <= x <= 1."""
    one = Wide(np.ones_like(magnitude))
    return root((one - magnitude) * (one + magnitude))


def tan(values: Array) -> Array:
    """Returns the tangent; NaN at both infinities."""
    finite = np.isfinite(values)
    sine, cosine = sine_cosine(Wide(np.where(finite, values, 1.0)))
    result = np.where(np.abs(values) < IDENTICAL, values, (sine / cosine).value())
    return np.where(finite, result, np.nan)


def asin(values: Array) -> Array:
    """Returns the angle of sine x, from -pi/2 to pi/2; NaN outside of [-1, 1]."""
    magnitude = np.abs(values)
    inside = magnitude <= 1.0
    safe = np.where(inside, magnitude, 0.5)
    angle = arctangent(Wide(safe), cofactor(safe)).value()
    angle = np.where(magnitude < IDENTICAL, magnitude, angle)
    return np.where(inside, np.copysign(angle, values), np.nan)


def acos(values: Array) -> Array:
    """Returns the angle of cosine x, from 0 to pi; NaN outside of [-1, 1]."""
    magnitude = np.abs(values)
    inside = magnitude <= 1.0
    safe = np.where(inside, magnitude, 0.5)
    angle = arctangent(cofactor(safe), Wide(safe))
    other = constant(PI) - angle
    return np.where(inside, np.where(values < 0.0, other.value(), angle.value()), np.nan)


def atan(values: Array) -> Array:
    """Returns the angle of tangent x; pi/2 with the sign of x at an infinity."""
    magnitude = np.abs(values)
    finite = np.minimum(magnitude, 2.0**1000)
    angle = arctangent(Wide(np.where(finite == finite, finite, 1.0)), Wide(np.ones_like(values)))
    result = np.where(magnitude < IDENTICAL, magnitude, angle.value())
    return np.where(values == values, np.copysign(result, values), np.nan)
