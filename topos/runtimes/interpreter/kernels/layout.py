"""Layout: the same elements under another shape, with none computed."""

from __future__ import annotations

from functools import partial
from operator import itemgetter, methodcaller
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders, always, unchanged
from topos.runtimes.interpreter.program import Array, Kernel, Shape
from topos.stablehlo.dialect import layout as dialect
from topos.stablehlo.types import extents

__all__ = ["BUILDERS", "broadcast", "padded", "padded_shape"]


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


def _transpose(context: BuildContext[dialect.Transpose]) -> Kernel:
    return methodcaller("transpose", context.op.permutation)


def _broadcast_in_dim(context: BuildContext[dialect.BroadcastInDim]) -> Kernel:
    (operand,), (result,) = context.operands, context.results
    axes = context.op.broadcast_dimensions
    return broadcast(extents(operand), axes, extents(result))


def _leading(context: BuildContext[Any]) -> Kernel:
    """Builds what repeats the operand along new axes in front."""
    return partial(np.broadcast_to, shape=extents(context.results[0]))


def _reverse(context: BuildContext[dialect.Reverse]) -> Kernel:
    axes = context.op.dimensions
    steps = [-1 if axis in axes else 1 for axis in range(len(context.operands[0].shape))]
    return itemgetter((..., *(slice(None, None, step) for step in steps)))


def _concatenate(context: BuildContext[dialect.Concatenate]) -> Kernel:
    axis = context.op.dimension
    return lambda *arrays: np.concatenate(arrays, axis)


def _pad(context: BuildContext[dialect.Pad]) -> Kernel:
    low, interior = context.op.edge_padding_low, context.op.interior_padding
    return partial(padded, low, interior, extents(context.results[0]))


BUILDERS: Final[Builders] = {
    dialect.Broadcast: _leading,
    dialect.BroadcastInDim: _broadcast_in_dim,
    dialect.Concatenate: _concatenate,
    dialect.Pad: _pad,
    dialect.Reshape: _reshape,
    dialect.Reverse: _reverse,
    dialect.Transpose: _transpose,
    # Between static types, which are all that a run has, a cast changes nothing.
    dialect.Cast: always(unchanged),
}
