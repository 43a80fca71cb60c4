"""Transfers: arrays copied into row-major order, tile by tile where they lie transposed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Measured on f32 and 16-bit matrices, of which numpy's own loop is up to ten times as slow: a
# tile of the source is copied as it lies, and turned in the cache.
ROWS: Final = 512
COLUMNS: Final = 128
# Powers of two apart, the rows of a tile would share few lines of the cache.
APART: Final = 16
# Below these extents and bytes numpy's own loop is as good.
LEAST: Final = 32
SMALL: Final = 1 << 16


def transfer(source: Array, target: Array) -> None:
    """Copies `source` into the C-contiguous `target` of its shape and dtype."""
    axis = _turned(source)
    if axis is None:
        target[...] = source
        return
    # Matrices of the two axes that change places, one for each position of the others.
    sources, targets = (np.moveaxis(each, axis, -2) for each in (source, target))
    room = np.empty((COLUMNS, ROWS + APART), source.dtype)
    for place in np.ndindex(sources.shape[:-2]):
        _turn(sources[place], targets[place], room)


def _turned(source: Array) -> int | None:
    """Returns the axis whose elements lie side by side, where it is not the last and worth it."""
    if source.nbytes < SMALL or source.strides[-1] == source.itemsize:
        return None
    beside = (
        axis
        for axis, step in enumerate(source.strides[:-1])
        if step == source.itemsize and source.shape[axis] >= LEAST
    )
    return next(beside, None) if source.shape[-1] >= LEAST else None


def _turn(source: Array, target: Array, room: Array) -> None:
    """Copies a matrix whose columns lie side by side; `room` takes a tile of it."""
    rows, columns = source.shape
    for row in range(0, rows, ROWS):
        for column in range(0, columns, COLUMNS):
            tile = source[row : row + ROWS, column : column + COLUMNS]
            near = room[: tile.shape[1], : tile.shape[0]]
            near[...] = tile.T
            target[row : row + ROWS, column : column + COLUMNS] = near.T
