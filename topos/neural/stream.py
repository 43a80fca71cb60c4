"""Streams: the numbers that a seed stands for, the same on every machine.

The words are those of splitmix64 (Steele, Lea & Flood, 2014). Every step from them to a number is
IEEE binary64 arithmetic or a map of the oracle, which rounds correctly: no bit depends on the
machine, on a mathematical library or on how many numbers are drawn at once.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import Tensor
from topos.errors import ArgumentError

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.float64]

MASK: Final = 2**64 - 1
# The golden ratio's fraction, odd, and the two multipliers of the published mixer.
STEP: Final = 0x9E37_79B9_7F4A_7C15
FIRST: Final = 0xBF58_476D_1CE4_E5B9
SECOND: Final = 0x94D0_49BB_1331_11EB


def seed_of(seed: Any) -> int:
    """Returns `seed` as an integer of 64 bits, or raises `ArgumentError`."""
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if not 0 <= number <= MASK:
        raise ArgumentError(f"a seed needs an integer of 0 to 2**64 - 1, got {seed!r}")
    return number


def words(seed: int, count: int) -> Words:
    """Returns the first `count` words of the splitmix64 stream of `seed`."""
    # Unsigned array arithmetic wraps, which is what the mixer wants.
    states = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(STEP) + np.uint64(seed)
    states = (states ^ (states >> np.uint64(30))) * np.uint64(FIRST)
    states = (states ^ (states >> np.uint64(27))) * np.uint64(SECOND)
    return states ^ (states >> np.uint64(31))


def split(seed: int, position: int) -> int:
    """Returns the seed of the stream at `position` below `seed`: that word of its stream."""
    # The state of a stream advances by a constant, so any word of it is one step away.
    return int(words((seed + position * STEP) & MASK, 1)[0])


def uniforms(seed: int, count: int) -> Numbers:
    """Returns `count` numbers of [0, 1): the upper 53 bits of a word each, times 2**-53."""
    return (words(seed, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normals(seed: int, count: int) -> Numbers:
    """Returns `count` numbers of the standard normal distribution (Box & Muller, 1958).

    Each pair of words makes a pair of numbers: with `u` and `v` their uniforms and
    `r = sqrt(-2 ln(1 - u))`, the pair is `r cos(2 pi v)` and `r sin(2 pi v)`. A word makes nothing
    else, so a longer draw begins with the shorter one.
    """
    pairs = (count + 1) // 2
    drawn = uniforms(seed, 2 * pairs).reshape(pairs, 2)
    # One minus a number of [0, 1) of 53 bits is exact, and never zero.
    radius = (-2.0 * Tensor(1.0 - drawn[:, 0]).ln()).sqrt()
    angle = Tensor(2.0 * math.pi * drawn[:, 1])
    both = (radius * angle.cos()).numpy(), (radius * angle.sin()).numpy()
    return np.stack(both, 1).reshape(-1)[:count]
