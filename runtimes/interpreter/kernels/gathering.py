"""Gather: windows of an operand at computed indices, which are clamped to lie inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.dynamic import stated
from topos.runtimes.interpreter.kernels.index_windows import Windows, sizes_of, windows_of
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import gathering as dialect
from topos.stablehlo.dimension_numbers import GatherNumbers
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]


def _gather(context: BuildContext[dialect.Gather]) -> Kernel:
    return _gathered(context, context.op.dimension_numbers, context.op.slice_sizes)


def _gathered(context: BuildContext[Any], numbers: GatherNumbers, sizes: Axes) -> Kernel:
    windows, placed = windows_of(numbers, context.operands[1], sizes), numbers.offset_dims
    rest = tuple(axis for axis in range(len(windows.shape)) if axis not in placed)
    # Where each axis of the result stands in [batch, window].
    layout = tuple(int(axis) for axis in np.argsort((*rest, *placed)))
    return _Gather(windows, layout)


@dataclass(frozen=True, slots=True)
class _Gather:
    """Reads windows through views, so that there is one index a window, not one an element."""

    windows: Windows
    layout: Axes

    def __call__(self, array: Array, indices: Array) -> Array:
        windows = self.windows
        if 0 in windows.shape:
            return np.empty(windows.shape, array.dtype).transpose(self.layout)
        starts = windows.starts(indices)
        keys = (*windows.absent, *windows.moving)
        places = [
            np.clip(starts[axis], 0, array.shape[axis] - windows.sizes[axis])
            if axis in starts
            else np.zeros((), np.intp)
            for axis in keys
        ]
        taken = _taken(array, windows, places)
        if taken.shape != windows.shape:
            # No index tells apart the windows along some axes of the batch.
            taken = np.broadcast_to(taken, windows.shape)
        return taken.transpose(self.layout)


def _taken(array: Array, windows: Windows, places: list[Array]) -> Array:
    """Returns the windows at `places`, which are those along each key axis of the operand."""
    cut = array[windows.cut(array.ndim)]
    if len(places) == 1 and not windows.moving and cut.flags.c_contiguous:
        (axis,), (place,) = windows.absent, places
        taken = cut.take(place, axis=axis)
        return np.moveaxis(taken, range(axis, axis + place.ndim), range(place.ndim))
    view = _every_window(cut, windows)
    if not places:
        return view
    if not view.flags.c_contiguous:
        return np.asarray(view[tuple(places)])
    # Of memory that lies in order, one index is faster than several.
    count = len(places)
    flat = places[0]
    for place, extent in zip(places[1:], view.shape[1:count], strict=True):
        flat = flat * extent + place
    return view.reshape(-1, *view.shape[count:]).take(flat, axis=0)


def _every_window(cut: Array, windows: Windows) -> Array:
    """Returns a view of all windows: [absent axes, starts along moving axes, window]."""
    moving = windows.moving
    if not moving:
        return cut.transpose((*windows.absent, *windows.offsets))
    view = sliding_window_view(cut, [windows.sizes[axis] for axis in moving], axis=moving)
    # The view's last axes are those of the windows along `moving`.
    within = {axis: cut.ndim + place for place, axis in enumerate(moving)}
    window = [within.get(axis, axis) for axis in windows.offsets]
    return view.transpose([*windows.absent, *moving, *window])


def _torch_index_select(context: BuildContext[dialect.TorchIndexSelect]) -> Kernel:
    """Builds what takes slices at indices, the first axes of both being those of a batch."""
    rank, axis, batch = len(context.operands[1].shape), context.op.dim, context.op.batch_dims
    if axis < 0:
        axis += len(context.operands[0].shape)
    return partial(_selected, axis, batch + rank if batch < 0 else batch)


def _selected(axis: int, batch: int, array: Array, indices: Array) -> Array:
    """Returns `array` with `axis` replaced by the axes of `indices` after those of the batch.

    Indices are clamped to the axis, as a gather clamps them; along an axis of nothing there is
    nothing but zero to select.
    """
    if indices.dtype.kind == "u":
        # An index beyond the signed range would turn negative.
        indices = np.minimum(indices, np.uint64(array.shape[axis]))
    places = np.clip(indices.astype(np.int64), 0, max(array.shape[axis] - 1, 0))
    lead = array.shape[:batch]
    shape = (*array.shape[:axis], *places.shape[batch:], *array.shape[axis + 1 :])
    if not array.shape[axis]:
        return np.zeros(shape, array.dtype)
    if not batch:
        return np.take(array, places, axis=axis)
    result = np.empty(shape, array.dtype)
    for place in np.ndindex(lead):
        result[place] = np.take(array[place], places[place], axis=axis - batch)
    return result


def _dynamic_gather(context: BuildContext[dialect.DynamicGather]) -> Kernel:
    """Builds the gather of the window that the result's type implies."""
    numbers, shape = context.op.dimension_numbers, extents(context.results[0])
    window = tuple([shape[axis] for axis in numbers.offset_dims])
    sizes = sizes_of(numbers, len(context.operands[0].shape), window)
    kernel = _gathered(context, numbers, sizes)
    return partial(stated, context.name, "the sizes", sizes, kernel)


BUILDERS: Final[Builders] = {
    dialect.DynamicGather: _dynamic_gather,
    dialect.Gather: _gather,
    dialect.TorchIndexSelect: _torch_index_select,
}
