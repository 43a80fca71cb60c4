"""The circle's reduction: x modulo 2 pi for every float64 x, by integer arithmetic on arrays.

Source: Payne and Hanek, Radian reduction for trigonometric functions (1983). Of the binary
fraction 256/pi only a window of bits matters to x 256/pi modulo 512: those before it add whole
turns, those after it little.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import fast_two_sum, two_sum
from topos.payload.kernels.exact_series import half_pi
from topos.payload.kernels.pairs import Pair

__all__ = ["LIMBS", "LOWEST_EXPONENT", "reduced", "windows"]

LIMBS: Final = 7
# 2**-28 is the smallest number that has a window.
LOWEST_EXPONENT: Final = 1023 - 28
_MASK: Final = 0xFFFFFFFF


@functools.cache
def windows() -> Array:
    """Returns for each binary exponent the 7 limbs of 32 bits that matter, a row a limb.

    With x = m 2**e, m of 53 bits, column e holds 2**e 256/pi modulo 512 as a fraction of 512,
    the first bits first, cut off after the last limb.
    """
    width = 32 * LIMBS
    places = 1100 + width
    # 256/pi = 128 / (pi/2) with so many places.
    ratio = (128 << 2 * places) // half_pi(places)
    columns = []
    for field in range(LOWEST_EXPONENT, 2047):
        # The weight of the last bit of the window is 2**(9 - width).
        shift = places + 9 - width - (field - 1075)
        window = (ratio >> shift) & ((1 << width) - 1)
        columns.append([window >> 32 * (LIMBS - 1 - limb) & _MASK for limb in range(LIMBS)])
    return np.array(columns, np.uint64).T.copy()


def reduced(magnitude: Array, limbs: int) -> tuple[Array, Pair]:
    """Returns n and f with x 256/pi = n + f modulo 512 and |f| <= 1/2, for finite x >= 2**-28.

    The product of the window by m, modulo 512, is cut off below by less than m units of the last
    limb: f is within 2**(62 - 32 limbs) absolutely, that is 2**-98 for 5 limbs and 2**-162 for
    7. No float64 number gives an |f| below 2**-56, so that 2**-162 is 2**-106 of f at most.
    """
    table = windows()
    bits = magnitude.view(np.int64)
    column = (bits >> 52) - LOWEST_EXPONENT
    mantissa = ((bits & ((1 << 52) - 1)) | (1 << 52)).view(np.uint64)
    below, above = mantissa & np.uint64(_MASK), mantissa >> np.uint64(32)
    carry = np.zeros_like(mantissa)
    digits: list[Array] = []
    for limb in range(limbs - 1, -1, -1):
        window = table[limb].take(column)
        product = below * window
        # At most 2**32 each but for the carry, which holds the product by 21 bits: no overflow.
        total = (product & np.uint64(_MASK)) + carry
        digits.append((total & np.uint64(_MASK)).view(np.int64))
        carry = (total >> np.uint64(32)) + (product >> np.uint64(32)) + above * window
    return _counted(digits[::-1])


def _counted(digits: list[Array]) -> tuple[Array, Pair]:
    """Splits a fraction of 512, given by its limbs, in the nearest step and the rest of it."""
    count = ((digits[0] >> 22) + 1) >> 1
    first = (digits[0] - (count << 23)).astype(np.float64) * 2.0**-23
    others = [
        digit.astype(np.float64) * 2.0 ** (-55 - 32 * place)
        for place, digit in enumerate(digits[1:])
    ]
    # Where the first limbs cancel, the rests of these sums are what stays.
    low, rest = others[-1], np.zeros_like(first)
    for digit in others[-2:0:-1]:
        low, lost = fast_two_sum(digit, low)
        rest = lost + rest
    low, lost = two_sum(others[0], low)
    head, more = two_sum(first, low)
    head, tail = two_sum(head, lost + more)
    return count, fast_two_sum(head, tail + rest)
