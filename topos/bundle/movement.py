"""Movement: numbers off by one unit in the last place, up or down as drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topos.reading import Tensor


def moved_by_one(value: Tensor, seed: Sequence[int]) -> Tensor:
    """Returns floats that are each off by one unit in the last place; the same for equal seeds."""
    array = value.numpy()
    places = np.array(array, order="C").view(f"i{array.dtype.itemsize}")
    words = np.random.PCG64([*seed]).random_raw(-(-array.size // 64))
    up = np.unpackbits(words.view(np.uint8))[: array.size].reshape(array.shape)
    # Zeros stay: what is nothing by a mask or a rectifier is nothing on every runtime.
    movable = np.isfinite(array) & (array != 0)
    places += np.where(movable, 2 * up.astype(np.int8) - 1, 0).astype(places.dtype)
    return Tensor.wrap(places.view(array.dtype), value.element)
