"""The angle and the length of a point, and the cube root, correctly rounded in every format."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np

from topos.payload.kernels import exact_curves
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.conversion import convert
from topos.payload.kernels.double_double import pair_sum, two_product
from topos.payload.kernels.exact import dyadic
from topos.payload.kernels.mapping import Ends, Map, format_of, low_ends, near_ends, refine
from topos.payload.kernels.rounding import BINARY32, BINARY64, Format, nearest
from topos.runtimes.interpreter.special.curves import (
    Arctangent,
    quick_arctangent,
    refined_arctangent,
)
from topos.runtimes.interpreter.special.wide import PI, Wide, constant, enclosed, root, where

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
    result = np.empty(y.size, target.dtype)
    if target is BINARY64:
        lanes = low_ends(partial(_bracket, quick_arctangent), (y, x), result)
        lanes = refine(partial(_bracket, refined_arctangent), (y, x), result, lanes)
    else:
        lanes = near_ends(np.arctan2, (y, x), result)
    for lane in lanes.tolist():
        result[lane] = exact_curves.angle_at(float(y[lane]), float(x[lane]), target)
    result[special] = convert(known, target.dtype)
    return result


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


def hypot(x: Array, y: Array, target: Format = BINARY64) -> Array:
    """Returns sqrt(x*x + y*y) of flat float64 arrays, rounded once to `target`.

    `target` is binary64, or binary32 where all numbers are of that format. An infinite part makes
    the result infinite, even if the other one is NaN.
    """
    large, small = (choose(np.abs(x), np.abs(y)) for choose in (np.maximum, np.minimum))
    inside = np.isfinite(large) & (large > 0.0)
    large, small = np.where(inside, large, 1.0), np.where(inside, small, 0.0)
    low, high = (_short if target is BINARY32 else _long)(large, small)
    for lane in np.flatnonzero(low != high).tolist():
        low[lane] = _at(float(large[lane]), float(small[lane]), target)
    endless, nothing = np.isinf(x) | np.isinf(y), (x == 0.0) & (y == 0.0)
    special = np.where(endless, np.inf, np.where(nothing, 0.0, np.nan)).astype(target.dtype)
    return np.where(inside, low, special)


def _short(large: Array, small: Array) -> tuple[Array, Array]:
    # Squares of 24 bits are exact; the sum and the root lose 2**-52.
    size = np.sqrt(large * large + small * small)
    return (size * (1 - 2.0**-50)).astype(np.float32), (size * (1 + 2.0**-50)).astype(np.float32)


def _long(large: Array, small: Array) -> tuple[Array, Array]:
    exponent = np.frexp(large)[1]
    first, second = np.ldexp(large, -exponent), np.ldexp(small, -exponent)
    # So little beside the large part is less than half a unit of its last place.
    alone = second < 2.0**-28
    second = np.where(alone, 0.0, second)
    square = Wide(*pair_sum(two_product(first, first), two_product(second, second)))
    low, high = enclosed(root(square), alone, first)
    # Subnormal results round at another place.
    return np.ldexp(low, exponent), np.where(exponent < -1020, np.nan, np.ldexp(high, exponent))


def _at(large: float, small: float, target: Format) -> float:
    if small == 0.0:
        return large
    (first, power), (second, other) = dyadic(large), dyadic(small)
    unit = min(power, other)
    square = (first << power - unit) ** 2 + (second << other - unit) ** 2
    # One bit more than the root tells whether anything is left below it.
    root = math.isqrt(square << 256)
    rest = root * root != square << 256
    return nearest(2 * root + rest, unit - 129, target)
