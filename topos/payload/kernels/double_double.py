"""Double-double arithmetic: sums and products of float64 arrays with their rounding errors.

Dekker's and Knuth's error-free transformations, by + - * alone, so that a fused multiply-add
of the machine has no say. Source: Handbook of Floating-Point Arithmetic, 2nd edition, 4.3-4.4.
"""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array

__all__ = ["fast_two_sum", "halves", "quotient", "two_product", "two_sum"]


def two_sum(first: Array, second: Array | float) -> tuple[Array, Array]:
    """Returns s and e with s = round(first + second) and s + e = first + second exactly."""
    total = first + second
    rest = total - first
    return total, (first - (total - rest)) + (second - rest)


def fast_two_sum(large: Array, small: Array) -> tuple[Array, Array]:
    """Returns what `two_sum` does, for |large| >= |small| or large = 0."""
    total = large + small
    return total, small - (total - large)


def halves(value: Array) -> tuple[Array, Array]:
    """Returns the first 26 bits of `value` and the other 27, by cutting."""
    high = (value.view(np.int64) & -0x8000000).view(np.float64)
    return high, value - high


def two_product(first: Array, second: Array) -> tuple[Array, Array]:
    """Returns p and e with p = round(first * second) and p + e = first * second exactly.

    Exact while no partial product leaves the normal range.
    """
    product = first * second
    a, b = _split(first)
    c, d = _split(second)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split(value: Array) -> tuple[Array, Array]:
    # Veltkamp: both halves have 26 bits, the second by its sign, so that all products are exact.
    scaled = value * 134217729.0
    high = scaled - (scaled - value)
    return high, value - high


def quotient(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Returns (a + b) / (c + d) as head and tail, within 2**-100 relatively."""
    head = a / c
    product, error = two_product(head, c)
    return head, (((a - product) - error) + (b - head * d)) / c
