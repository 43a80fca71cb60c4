"""Slices: of a place that the text states, or one that is computed, read or written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

import numpy as np

from topos.errors import ExecutionError
from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.kernels.dynamic import demand
from topos.runtimes.interpreter.program import Array, Kernel, Shape
from topos.stablehlo.dialect import slicing as dialect
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]


def _slice(context: BuildContext[dialect.Slice]) -> Kernel:
    op = context.op
    # Of a scalar numpy would return a number without the ellipsis.
    return itemgetter((..., *map(slice, op.start_indices, op.limit_indices, op.strides)))


def _dynamic_slice(context: BuildContext[dialect.DynamicSlice]) -> Kernel:
    return partial(_read, context.op.slice_sizes)


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


def _real_dynamic_slice(context: BuildContext[Any]) -> Kernel:
    return partial(_ranged, context.name, extents(context.results[0]))


def _ranged(
    name: str, shape: Shape, array: Array, starts: Array, limits: Array, strides: Array
) -> Array:
    ranges = list(zip(starts.tolist(), limits.tolist(), strides.tolist(), strict=True))
    for (start, limit, stride), extent in zip(ranges, array.shape, strict=True):
        if not (0 <= start <= limit <= extent and stride > 0):
            got = f"{start}:{limit}:{stride}"
            raise ExecutionError(f"{name} needs ranges inside {list(array.shape)}, got {got}")
    kept = [-(-(limit - start) // stride) for start, limit, stride in ranges]
    demand(name, "ranges of", shape, kept)
    return np.asarray(array[tuple(slice(*each) for each in ranges)])


BUILDERS: Final[Builders] = {
    dialect.DynamicSlice: _dynamic_slice,
    dialect.DynamicUpdateSlice: always(_written),
    dialect.RealDynamicSlice: _real_dynamic_slice,
    dialect.Slice: _slice,
}
