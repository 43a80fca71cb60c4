"""Fourier transforms by additions and multiplications alone, the same on every machine.

A length n = p m, p its least prime factor, is p transforms of length m of every p-th element, and
X[j + m q] the sum over r, ascending, of w**((j + m q) r) times the r-th of them at j. The powers of
w = e**(+-2 pi i / n) are the nearest numbers. A product is (ac - bd) + i(ad + bc), each operation
rounded once.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_parts import Parts
from topos.runtimes.interpreter.special.constants import PI
from topos.runtimes.interpreter.special.wide import Wide, constant, sine_cosine

__all__ = ["transformed"]


def transformed(parts: Parts, axis: int, sign: int) -> Parts:
    """Returns the sums of x[k] e**(sign 2 pi i j k / n) along `axis`, of any length but 0."""
    real, imaginary = (np.moveaxis(part, axis, -1) for part in parts)
    real, imaginary = _along(real, imaginary, sign)
    return np.moveaxis(real, -1, axis), np.moveaxis(imaginary, -1, axis)


def _along(real: Array, imaginary: Array, sign: int) -> Parts:
    *lead, extent = real.shape
    if extent == 1:
        return real, imaginary
    factor = _least_factor(extent)
    split = (*lead, extent // factor, factor)
    real, imaginary = _along(
        real.reshape(split).swapaxes(-1, -2), imaginary.reshape(split).swapaxes(-1, -2), sign
    )
    first = real[..., :1, :], imaginary[..., :1, :]
    total, rest = (np.repeat(part, factor, axis=-2) for part in first)
    cosine, sine = _circle(extent)
    order = np.arange(extent).reshape(factor, -1)
    for index in range(1, factor):
        places = order * index % extent
        c, d = cosine[places], sine[places] * sign
        a, b = real[..., index, None, :], imaginary[..., index, None, :]
        total += a * c - b * d
        rest += a * d + b * c
    return total.reshape(*lead, extent), rest.reshape(*lead, extent)


def _least_factor(extent: int) -> int:
    tried = (number for number in range(2, math.isqrt(extent) + 1) if extent % number == 0)
    return next(tried, extent)


@lru_cache(maxsize=64)
def _circle(extent: int) -> Parts:
    """Returns cos(2 pi k / n) and sin(2 pi k / n) for all k below n, each the nearest number."""
    quarters, rest = np.divmod(4 * np.arange(extent), extent)
    # Of a quarter the half nearer to an axis is computed, so that both axes are exact.
    turned = 2 * rest > extent
    share = np.where(turned, extent - rest, rest).astype(np.float64)
    angle = constant(PI).scaled(0.5) * share / float(extent)
    sine, cosine = (number.value() for number in sine_cosine(Wide(angle.head, angle.tail)))
    sine, cosine = np.where(turned, cosine, sine), np.where(turned, sine, cosine)
    for bit in range(1, 4):
        moved = quarters >= bit
        sine, cosine = np.where(moved, cosine, sine), np.where(moved, -sine, cosine)
    return cosine, sine
