"""Slices whose place is computed: reading one, and writing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def _dynamic_slice(context: BuildContext) -> Kernel:
    return partial(_read, context.integers("slice_sizes"))


def _dynamic_update_slice(context: BuildContext) -> Kernel:
    return _written


def _window(indices: Sequence[Array], sizes: Shape, shape: Shape) -> tuple[slice, ...]:
    """Returns the window of `sizes`, moved inside `shape` where it would reach out of it."""
    starts = [
        min(max(int(index), 0), extent - size)
        for index, size, extent in zip(indices, sizes, shape, strict=True)
    ]
    return tuple([slice(start, start + size) for start, size in zip(starts, sizes, strict=True)])


def _read(sizes: Shape, array: Array, *indices: Array) -> Array:
    # Of a scalar numpy would return a number.
    return np.asarray(array[_window(indices, sizes, array.shape)])


def _written(array: Array, update: Array, *indices: Array) -> Array:
    result = array.copy()
    result[_window(indices, update.shape, array.shape)] = update
    return result


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
}
