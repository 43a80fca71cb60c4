"""Movement: numbers off by one unit in the last place, up or down as drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from topos.reading import Tensor

# How many numbers are moved at a time; each word that is drawn moves 64.
PART: Final = 1 << 16


def moved_by_one(value: Tensor, seed: Sequence[int]) -> Tensor:
    """Returns floats that are each off by one unit in the last place; the same for equal seeds."""
    moved = np.array(value.numpy(), order="C")
    numbers = np.random.PCG64([*seed])
    flat = moved.reshape(-1)
    places = flat.view(f"i{flat.itemsize}")
    # A part at a time, what a draw needs beside the numbers themselves is small.
    for start in range(0, flat.size, PART):
        own = flat[start : start + PART]
        words = numbers.random_raw(-(-own.size // 64))
        up = np.unpackbits(words.view(np.uint8))[: own.size]
        # Zeros stay: what is nothing by a mask or a rectifier is nothing on every runtime.
        movable = np.isfinite(own) & (own != 0)
        steps = np.where(movable, 2 * up.astype(np.int8) - 1, 0)
        places[start : start + PART] += steps.astype(places.dtype)
    return Tensor.wrap(moved, value.element)
