"""What complex functions return where a part is infinite or NaN, by C99, Annex G.6.

Each takes the parts of such numbers and returns the parts of the results. Where the standard leaves
a sign open, it is plus. The circular functions follow from the hyperbolic ones: f(iz) = i g(z).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array

__all__ = ["acos", "asinh", "atanh", "cosh", "sinh", "tanh"]

Parts = tuple[Array, Array]
_QUARTER: Final = np.pi / 4


def _signed(value: Array | float, sign: Array) -> Array:
    """Returns `value` with the sign of a number, plus for NaN."""
    return np.where(np.isnan(sign), value, np.copysign(value, sign))


def asinh(x: Array, y: Array) -> Parts:
    """Returns an infinity with an angle, or NaN with NaN or a zero."""
    endless = np.isinf(x) | np.isinf(y)
    growth = np.where(endless, _signed(np.inf, x), np.nan)
    quarters = np.where(np.isinf(y), np.where(np.isinf(x), 1, 2), 0)
    angle = np.copysign(quarters * _QUARTER, y)
    known = ~np.isnan(x) & ~np.isnan(y)
    return growth, np.where(known, angle, np.where(np.isnan(x) & (y == 0.0), y, np.nan))


def acos(x: Array, y: Array) -> Parts:
    """Returns an angle from 0 to pi with an infinity of the other sign than y, or NaN."""
    endless = np.isinf(x) | np.isinf(y)
    growth = np.where(endless, -_signed(np.inf, y), np.nan)
    behind = np.signbit(x)
    both = np.where(behind, 3, 1)
    quarters = np.where(np.isinf(y), np.where(np.isinf(x), both, 2), np.where(behind, 4, 0))
    known = ~np.isnan(x) & ~np.isnan(y)
    upright = np.isnan(y) & (x == 0.0)
    return np.where(known, quarters, np.where(upright, 2.0, np.nan)) * _QUARTER, growth


def atanh(x: Array, y: Array) -> Parts:
    """Returns a zero with the angle pi/2, or NaN."""
    endless = np.isinf(x) | np.isinf(y)
    real = np.where(endless | (x == 0.0), _signed(0.0, x), np.nan)
    right = np.isinf(y) | (np.isinf(x) & ~np.isnan(y))
    return real, np.where(right, _signed(2 * _QUARTER, y), np.nan)


def sinh(x: Array, y: Array) -> Parts:
    """Returns an infinity in the direction of the angle y; NaN where there is none."""
    turned, safe = np.isinf(x) & np.isfinite(y), np.where(np.isfinite(y), y, 0.0)
    real = np.where(turned, np.inf * maps.cos(safe) * np.copysign(1.0, x), np.nan)
    real = np.where(np.isinf(x) & ~turned, np.inf, np.where(x == 0.0, _signed(0.0, x), real))
    rise = np.where(
        turned & (y != 0.0), np.inf * maps.sin(np.where(safe == 0.0, 1.0, safe)), np.nan
    )
    return real, np.where(y == 0.0, y, rise)


def cosh(x: Array, y: Array) -> Parts:
    """Returns an infinity in the direction of the angle y; NaN where there is none."""
    turned, safe = np.isinf(x) & np.isfinite(y), np.where(np.isfinite(y), y, 0.0)
    real = np.where(turned, np.inf * maps.cos(safe), np.where(np.isinf(x), np.inf, np.nan))
    sign = np.copysign(1.0, x)
    rise = np.inf * maps.sin(np.where(safe == 0.0, 1.0, safe)) * sign
    level = (y == 0.0) | (x == 0.0)
    zero = np.where(np.isfinite(y) & ~np.isnan(x), np.copysign(0.0, y) * sign, 0.0)
    zero = np.where(np.isnan(x) & (y == 0.0), y, zero)
    return real, np.where(level, zero, np.where(turned, rise, np.nan))


def tanh(x: Array, y: Array) -> Parts:
    """Returns 1 with the sign of x beside a zero; NaN where x is finite, but that zero stays."""
    endless = np.isinf(x)
    safe = np.where(np.isfinite(y), y, 0.0)
    wave = np.copysign(0.0, maps.sin(safe) * maps.cos(safe))
    rest = np.where(np.isfinite(y), wave, _signed(0.0, y))
    real = np.where(endless, np.copysign(1.0, x), np.where(x == 0.0, x, np.nan))
    return real, np.where(endless, rest, np.where(np.isnan(x) & (y == 0.0), y, np.nan))
