"""The angle of a point and the cube root, correctly rounded in every format."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from topos.payload.kernels import exact_curves
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.mapping import Map, format_of
from topos.payload.kernels.maps_narrow import narrowed
from topos.payload.kernels.maps_wide import CHUNK, Ends, refine
from topos.payload.kernels.rounding import BINARY64, Format
from topos.runtimes.interpreter.special.circular import (
    Arctangent,
    quick_arctangent,
    refined_arctangent,
)
from topos.runtimes.interpreter.special.constants import PI
from topos.runtimes.interpreter.special.wide import Wide, constant, enclosed, where

__all__ = ["CBRT", "atan2"]


_LOW: Final = 1.0 - 2.0**-46
_HIGH: Final = 1.0 + 2.0**-46
# Below, the tail of a pair leaves the normal range.
_NARROWEST: Final = 2.0**-900
_HUGE: Final = 2.0**1000


def atan2(y: Array, x: Array) -> Array:
    """Returns the angle of (x, y), from -pi to pi, correctly rounded; shapes broadcast.

    Special cases are those of `atan2` in IEEE 754-2019 clause 9.2: a zero y has the angle 0 or pi
    by the sign of x, two infinities an odd multiple of pi/4.
    """
    y, x = np.broadcast_arrays(y, x)
    target = format_of("atan2", y)
    rise, run = (np.ascontiguousarray(part).reshape(-1) for part in (y, x))
    with np.errstate(all="ignore"):
        result = _angles(rise.astype(np.float64), run.astype(np.float64), target)
    return canonical(result).reshape(y.shape)


def _angles(y: Array, x: Array, target: Format) -> Array:
    special = ~(np.isfinite(y) & np.isfinite(x)) | (y == 0.0) | (x == 0.0)
    known = _special(y[special], x[special])
    y, x = np.where(special, 1.0, y), np.where(special, 1.0, x)
    result, high = (np.empty(y.size, target.dtype) for _ in range(2))
    for start in range(0, y.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        result[chunk], high[chunk] = _ends(y[chunk], x[chunk], target)
    lanes = np.flatnonzero(result != high)
    if target is BINARY64:
        lanes = refine(partial(_bracket, refined_arctangent), (y, x), result, lanes)
    for lane in lanes.tolist():
        result[lane] = exact_curves.angle_at(float(y[lane]), float(x[lane]), target)
    result[special] = narrowed(known, target)
    return result


def _ends(y: Array, x: Array, target: Format) -> Ends:
    if target is BINARY64:
        return _bracket(quick_arctangent, y, x)
    estimate = np.arctan2(y, x)
    return narrowed(estimate * _LOW, target), narrowed(estimate * _HIGH, target)


def _special(y: Array, x: Array) -> Array:
    """Returns the angle where a part is zero, infinite or NaN: a multiple of pi/4."""
    endless = np.isinf(x) & np.isinf(y)
    behind = np.signbit(x)
    upright = (np.isinf(y) | (x == 0.0)) & (y != 0.0)
    quarters = np.where(endless, np.where(behind, 3, 1), np.where(upright, 2, 4 * behind))
    angle = np.copysign(quarters * (PI[0] / 4), y)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, angle)


def _bracket(arctangent: Arctangent, y: Array, x: Array) -> Ends:
    rise, run = np.abs(y), np.abs(x)
    # Beyond 2**1000 the sum of the halves may overflow.
    scale = np.where(np.maximum(rise, run) > _HUGE, 2.0**-30, 1.0)
    angle, error = arctangent(Wide(rise * scale), Wide(run * scale))
    # What may have lost digits on the way is left to integers.
    lost = (np.minimum(rise, run) < _NARROWEST) | (angle.head < _NARROWEST)
    error = np.where(lost, np.inf, error)
    angle = where(x < 0.0, constant(PI) - angle, angle).scaled(np.copysign(1.0, y))
    return enclosed(angle, np.zeros(y.shape, np.bool_), y, error)


def _bracket_cbrt(values: Array) -> Ends:
    """Encloses the cube root by one step of Newton's method from numpy's, good to 2**-46."""
    whole = np.isfinite(values) & (values != 0.0)
    # The step is taken at a size whose cube is in no danger.
    fraction, exponent = np.frexp(np.where(whole, values, 1.0))
    third = -(-exponent // 3)
    number = np.ldexp(fraction, exponent - 3 * third)
    root = np.cbrt(number)
    near = Wide(root)
    step = (number - near * near * near) / (3.0 * root * root)
    low, high = enclosed(near + step.head, ~whole, values)
    return np.where(whole, np.ldexp(low, third), low), np.where(whole, np.ldexp(high, third), high)


CBRT: Final = Map(exact_curves.CBRT, np.cbrt, _bracket_cbrt, _bracket_cbrt)
