"""Layout and slices: the same elements under another shape or a part of them, none computed.

Of the dynamic forms an operand gives the shape, the sizes or the padding. The result's type says
what it must come to. Where it does not, the run ends in an `ExecutionError`: no result of that
type would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any, Final

import numpy as np

from topos.errors import ExecutionError
from topos.runtimes.interpreter.context import (
    BuildContext,
    Builder,
    Builders,
    Constant,
    always,
    unchanged,
)
from topos.runtimes.interpreter.kernels import constants
from topos.runtimes.interpreter.program import Array, Kernel, Shape
from topos.stablehlo.dialect import constants as dialect_constants
from topos.stablehlo.dialect import dynamic, slicing
from topos.stablehlo.dialect import layout as dialect
from topos.stablehlo.types import extents


def broadcast(source: Shape, axes: Shape, target: Shape) -> Kernel:
    """Returns the kernel from `source` to `target`, axis i of the one being `axes[i]` of the other.

    An extent of one is repeated, and so is the whole along the axes of `target` not named.
    """
    # The axes may come in any order; the operand's follow that of the result's.
    order = tuple(sorted(range(len(axes)), key=lambda position: axes[position]))
    placed = [1] * len(target)
    for extent, axis in zip(source, axes, strict=True):
        placed[axis] = extent
    return partial(_broadcast, order, tuple(placed), target)


def _broadcast(order: Shape, placed: Shape, target: Shape, array: Array) -> Array:
    return np.broadcast_to(array.transpose(order).reshape(placed), target)


def padded_shape(shape: Shape, low: Shape, high: Shape, interior: Shape) -> Shape:
    """Returns the extents after a padding; one is negative where more is cut than there is."""
    return tuple(
        before + extent + max(extent - 1, 0) * between + after
        for before, extent, between, after in zip(low, shape, interior, high, strict=True)
    )


def padded(low: Shape, interior: Shape, target: Shape, array: Array, filler: Array) -> Array:
    """Returns `array` spread by `interior` and moved by `low` in a `target` full of `filler`."""
    parts = [
        _window(before, extent, between + 1, wanted)
        for before, extent, between, wanted in zip(low, array.shape, interior, target, strict=True)
    ]
    taken, placed = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
    result = np.empty(target, array.dtype)
    result[...] = filler
    result[placed] = array[taken]
    return result


def _window(low: int, extent: int, step: int, target: int) -> tuple[slice, slice]:
    """Returns which elements of an axis survive, and where they stand in the padded one."""
    first = max(0, -(low // step))
    last = min(extent, (target - 1 - low) // step + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    place = low + first * step
    return slice(first, last), slice(place, place + (last - first - 1) * step + 1, step)


def _reshape(context: BuildContext[Any]) -> Kernel:
    return methodcaller("reshape", extents(context.results[0]))


def _broadcast_in_dim(context: BuildContext[Any]) -> Kernel:
    source, target = extents(context.operands[0]), extents(context.results[0])
    return broadcast(source, context.op.broadcast_dimensions, target)


def _reverse(context: BuildContext[dialect.Reverse]) -> Kernel:
    axes = context.op.dimensions
    steps = [-1 if axis in axes else 1 for axis in range(len(context.operands[0].shape))]
    return itemgetter((..., *(slice(None, None, step) for step in steps)))


def _joined(axis: int, *arrays: Array) -> Array:
    return np.concatenate(arrays, axis)


def _pad(context: BuildContext[dialect.Pad]) -> Kernel:
    low, interior = context.op.edge_padding_low, context.op.interior_padding
    return partial(padded, low, interior, extents(context.results[0]))


def _slice(context: BuildContext[slicing.Slice]) -> Kernel:
    op = context.op
    # Of a scalar numpy would return a number without the ellipsis.
    return itemgetter((..., *map(slice, op.start_indices, op.limit_indices, op.strides)))


def _slices(indices: Sequence[Array], sizes: Shape, shape: Shape) -> tuple[slice, ...]:
    """Returns the window of `sizes`, moved inside `shape` where it would reach out of it."""
    starts = [
        min(max(int(index), 0), extent - size)
        for index, size, extent in zip(indices, sizes, shape, strict=True)
    ]
    return tuple([slice(start, start + size) for start, size in zip(starts, sizes, strict=True)])


def _read(sizes: Shape, array: Array, *indices: Array) -> Array:
    # Of a scalar numpy would return a number.
    return np.asarray(array[_slices(indices, sizes, array.shape)])


def _written(array: Array, update: Array, *indices: Array) -> Array:
    result = array.copy()
    result[_slices(indices, update.shape, array.shape)] = update
    return result


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


def demand(name: str, what: str, wanted: Sequence[int], got: Sequence[int]) -> None:
    """Raises `ExecutionError` where the run has other numbers than the types say."""
    if list(wanted) != list(got):
        raise ExecutionError(f"{name} needs {what} {list(wanted)}, got {list(got)}")


def stated(name: str, what: str, wanted: Shape, kernel: Kernel, *values: Array) -> Array:
    """Returns what `kernel` makes of all operands but the last, which must be `wanted`."""
    *operands, got = values
    demand(name, what, wanted, got.ravel().tolist())
    result: Array = kernel(*operands)
    return result


def _shaped(build: Builder) -> Builder:
    """Returns the builder of what `build` makes, with the result's shape as one more operand."""

    def shaped(context: BuildContext[Any]) -> Kernel:
        made = build(context)
        # An iota is known before the run.
        kernel = partial(unchanged, made.array) if isinstance(made, Constant) else made
        return partial(stated, context.name, "the shape", extents(context.results[0]), kernel)

    return shaped


def _padded_to(
    name: str, shape: Shape, array: Array, filler: Array, low: Array, high: Array, interior: Array
) -> Array:
    before, after, between = low.tolist(), high.tolist(), interior.tolist()
    if min(between, default=0) < 0:
        raise ExecutionError(f"{name} needs interior padding of zero or more, got {between}")
    demand(name, "padding to", shape, padded_shape(array.shape, before, after, between))
    return padded(before, between, shape, array, filler)


def _get_dimension_size(context: BuildContext[dynamic.GetDimensionSize]) -> Constant:
    extent = extents(context.operands[0])[context.op.dimension]
    return Constant(np.array(extent, np.int32))


def _set_dimension_size(context: BuildContext[dynamic.SetDimensionSize]) -> Kernel:
    axis = context.op.dimension
    extent = extents(context.results[0])[axis]
    seen = itemgetter((*[slice(None)] * axis, slice(extent)))
    return partial(stated, context.name, "the size", (extent,), seen)


BUILDERS: Final[Builders] = {
    # It repeats the operand along new axes in front.
    dialect.Broadcast: lambda context: partial(np.broadcast_to, shape=extents(context.results[0])),
    dialect.BroadcastInDim: _broadcast_in_dim,
    dialect.Concatenate: lambda context: partial(_joined, context.op.dimension),
    dialect.Pad: _pad,
    dialect.Reshape: _reshape,
    dialect.Reverse: _reverse,
    dialect.Transpose: lambda context: methodcaller("transpose", context.op.permutation),
    # Between static types, which are all that a run has, a cast changes nothing.
    dialect.Cast: always(unchanged),
    slicing.DynamicSlice: lambda context: partial(_read, context.op.slice_sizes),
    slicing.DynamicUpdateSlice: always(_written),
    slicing.RealDynamicSlice: lambda context: partial(
        _ranged, context.name, extents(context.results[0])
    ),
    slicing.Slice: _slice,
    dynamic.DynamicBroadcastInDim: _shaped(_broadcast_in_dim),
    dynamic.DynamicIota: _shaped(constants.BUILDERS[dialect_constants.Iota]),
    dynamic.DynamicPad: lambda context: partial(
        _padded_to, context.name, extents(context.results[0])
    ),
    dynamic.DynamicReshape: _shaped(_reshape),
    dynamic.GetDimensionSize: _get_dimension_size,
    dynamic.SetDimensionSize: _set_dimension_size,
}
