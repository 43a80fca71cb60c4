"""Double-double arithmetic: sums and products of float64 arrays with their rounding errors.

Dekker's and Knuth's error-free transformations, by + - * alone, so that a fused multiply-add
of the machine has no say. Source: Handbook of Floating-Point Arithmetic, 2nd edition, 4.3-4.4.

A pair is head + tail with head = round(head + tail), two float64 arrays; u stands for 2**-53.
Source of the algorithms and bounds of pairs: Joldes, Muller and Popescu, Tight and rigorous error
bounds for basic building blocks of double-word arithmetic, ACM TOMS 44 (2017); they hold while no
product of two halves leaves the normal range.
"""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array

Pair = tuple[Array, Array]
Constant = tuple[float, float]


def two_sum(first: Array, second: Array | float) -> Pair:
    """Returns s and e with s = round(first + second) and s + e = first + second exactly."""
    total = first + second
    rest = total - first
    return total, (first - (total - rest)) + (second - rest)


def fast_two_sum(large: Array, small: Array) -> Pair:
    """Returns what `two_sum` does, for |large| >= |small| or large = 0."""
    total = large + small
    return total, small - (total - large)


def halves(value: Array) -> Pair:
    """Returns the first 26 bits of `value` and the other 27, by cutting."""
    high = (value.view(np.int64) & -0x8000000).view(np.float64)
    return high, value - high


def two_product(first: Array, second: Array) -> Pair:
    """Returns p and e with p = round(first * second) and p + e = first * second exactly.

    Exact while no partial product leaves the normal range.
    """
    product = first * second
    a, b = _split(first)
    c, d = _split(second)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split(value: Array) -> Pair:
    # Veltkamp: both halves have 26 bits, the second by its sign, so that all products are exact.
    scaled = value * 134217729.0
    high = scaled - (scaled - value)
    return high, value - high


def two_to(power: Array) -> Array:
    """Returns 2**power as float64, for powers from -1022 to 1023; 0 for -1023."""
    return ((power + 1023) << 52).view(np.float64)


def quotient(a: Array, b: Array, c: Array, d: Array) -> Pair:
    """Returns (a + b) / (c + d) as head and tail, within 2**-100 relatively."""
    head = a / c
    product, error = two_product(head, c)
    return head, (((a - product) - error) + (b - head * d)) / c


def pair_sum(first: Pair, second: Pair | Constant) -> Pair:
    """Returns the sum within 3.1 u*u of it, relatively, even where it cancels."""
    head, lost = two_sum(first[0], second[0])
    tail, more = two_sum(first[1], second[1])
    head, lost = fast_two_sum(head, lost + tail)
    return fast_two_sum(head, lost + more)


def pair_product(first: Pair, second: Pair) -> Pair:
    """Returns the product within 5 u*u of it, relatively."""
    head, lost = two_product(first[0], second[0])
    return fast_two_sum(head, lost + (first[0] * second[1] + first[1] * second[0]))


def pair_times(pair: Pair, number: Array) -> Pair:
    """Returns the product by a float64 number within 3 u*u of it, relatively."""
    head, lost = two_product(pair[0], number)
    return fast_two_sum(head, lost + pair[1] * number)


def pair_quotient(first: Pair, second: Pair) -> Pair:
    """Returns the quotient within 2**-100 of it, relatively."""
    return fast_two_sum(*quotient(*first, *second))
