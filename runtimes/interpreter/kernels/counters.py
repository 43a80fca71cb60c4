"""Counters: the two block ciphers that turn a key and a count into random bits.

Threefry-2x32 and Philox-4x32 are those of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers:
As Easy as 1, 2, 3" (2011), with 20 and 10 rounds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array

__all__ = ["halves", "joined", "philox", "threefry"]


_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = np.uint32(0x1BD11BDA)
_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_ROUNDS: Final = 10


def halves(words: Array) -> tuple[Array, Array]:
    """Returns the low and the high 32 bits of 64-bit words."""
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def joined(low: Array, high: Array) -> Array:
    """Returns 64-bit words of their low and their high 32 bits."""
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


def threefry(key: Array, counts: Array) -> tuple[Array, Array]:
    """Returns two 32-bit words for each 64-bit count, under a 64-bit key."""
    first, second = halves(np.asarray(key))
    keys = (first, second, first ^ second ^ _PARITY)
    left, right = halves(counts)
    left, right = left + keys[0], right + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            left = left + right
            right = _rotated(right, distance) ^ left
        left = left + keys[(group + 1) % 3]
        right = right + keys[(group + 2) % 3] + np.uint32(group + 1)
    return left, right


def philox(key: Array, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """Returns four 32-bit words for each 128-bit count, given by its 64-bit halves."""
    keys = [int(half) for half in halves(np.asarray(key))]
    first, second = halves(low)
    third, fourth = halves(high)
    for step in range(_ROUNDS):
        scrambled = [
            np.uint32((half + step * weyl) & 0xFFFFFFFF)
            for half, weyl in zip(keys, _WEYL, strict=True)
        ]
        left, left_carry = halves(first.astype(np.uint64) * _MULTIPLIERS[0])
        right, right_carry = halves(third.astype(np.uint64) * _MULTIPLIERS[1])
        first, second = right_carry ^ second ^ scrambled[0], right
        third, fourth = left_carry ^ fourth ^ scrambled[1], left
    return first, second, third, fourth


def _rotated(words: Array, distance: int) -> Array:
    return (words << np.uint32(distance)) | (words >> np.uint32(32 - distance))
