"""Pairs: sums, products and quotients of double-double numbers, to 2**-102 relatively.

A pair is head + tail with head = round(head + tail), two float64 arrays. u stands for 2**-53.
Source of the algorithms and bounds: Joldes, Muller and Popescu, Tight and rigorous error bounds
for basic building blocks of double-word arithmetic, ACM TOMS 44 (2017); they hold while no
product of two halves leaves the normal range.
"""

from __future__ import annotations

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, quotient, two_product, two_sum

__all__ = ["Constant", "Pair", "pair_product", "pair_quotient", "pair_sum", "pair_times"]

Pair = tuple[Array, Array]
Constant = tuple[float, float]


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
