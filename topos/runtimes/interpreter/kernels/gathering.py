"""Gather: windows of an operand at computed indices, which are clamped to lie inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.layout import stated
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import gathering as dialect
from topos.stablehlo.dimension_numbers import GatherNumbers, ScatterNumbers
from topos.stablehlo.ir import Tensor
from topos.stablehlo.types import extents


@dataclass(frozen=True, slots=True)
class Windows:
    """Which elements of the operand each window holds.

    Elements are laid out as [batch, window]: the axes of the indices less that of the index
    vector, then `offsets`, the operand's axes along which a window extends. `absent` are its other
    axes. `components` is the operand's axis of each part of the index vector; `batching` pairs an
    operand's axis with the axis of the batch that runs along it; `sizes` is a window's extent along
    each operand's axis.
    """

    vector: int
    components: Axes
    batching: tuple[tuple[int, int], ...]
    offsets: Axes
    absent: Axes
    sizes: Axes
    batch: Axes

    @property
    def window(self) -> Axes:
        """The shape of a window."""
        return tuple([self.sizes[axis] for axis in self.offsets])

    @property
    def shape(self) -> Axes:
        """The shape of [batch, window]."""
        return (*self.batch, *self.window)

    @property
    def moving(self) -> Axes:
        """The operand's axes along which windows extend and start anywhere, ascending."""
        return tuple([axis for axis in self.offsets if axis in self.components])

    def cut(self, rank: int) -> tuple[Any, ...]:
        """Returns the part of an operand that windows reach which do not move along an axis."""
        still = set(self.offsets) - set(self.components)
        kept = [slice(self.sizes[axis]) if axis in still else slice(None) for axis in range(rank)]
        # The ellipsis keeps what is cut from a scalar an array, which can be written to.
        return (..., *kept)

    def starts(self, indices: Array) -> dict[int, Array]:
        """Returns where windows start along each axis that has a component or is batching.

        Each is of the batch's shape, or broadcasts to it.
        """
        indices = _signed(indices)
        if self.vector < indices.ndim:
            columns = np.moveaxis(indices, self.vector, 0)
        else:
            columns = indices[None]
        starts: dict[int, Array] = {}
        for axis, column in zip(self.components, columns, strict=True):
            starts[axis] = column.astype(np.intp)
        for axis, along in self.batching:
            steps = np.arange(self.batch[along])
            starts[axis] = steps.reshape(-1, *(1,) * (len(self.batch) - along - 1))
        return starts


def _signed(indices: Array) -> Array:
    # An index beyond the signed range would turn negative, and so small.
    most = np.uint64(np.iinfo(np.int64).max)
    return np.minimum(indices, most) if indices.dtype == np.uint64 else indices


def windows_of(numbers: GatherNumbers | ScatterNumbers, indices: Tensor, sizes: Axes) -> Windows:
    """Returns the windows that `numbers` describe, `sizes` being their extents along every axis."""
    match numbers:
        case GatherNumbers():
            batching, along = numbers.operand_batching_dims, numbers.start_indices_batching_dims
            components = numbers.start_index_map
        case ScatterNumbers():
            batching, along = numbers.input_batching_dims, numbers.scatter_indices_batching_dims
            components = numbers.scatter_dims_to_operand_dims
    vector, absent = numbers.index_vector_dim, tuple(sorted(numbers.dropped))
    return Windows(
        vector=vector,
        components=components,
        batching=tuple(
            (axis, place - (place > vector)) for axis, place in zip(batching, along, strict=True)
        ),
        offsets=tuple(axis for axis in range(len(sizes)) if axis not in absent),
        absent=absent,
        sizes=sizes,
        batch=tuple(extent for axis, extent in enumerate(extents(indices)) if axis != vector),
    )


def sizes_of(numbers: GatherNumbers | ScatterNumbers, rank: int, window: Axes) -> Axes:
    """Returns a window's extents along every axis, from those along the axes that it has."""
    along = iter(window)
    return tuple(1 if axis in numbers.dropped else next(along) for axis in range(rank))


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
    # numpy does not know some of the elements by the type string that a view passes on.
    held = cut.view(np.uint8) if cut.dtype.itemsize == 1 else cut
    sizes = [windows.sizes[axis] for axis in moving]
    view = sliding_window_view(held, sizes, axis=moving).view(cut.dtype)
    # The view's last axes are those of the windows along `moving`.
    within = {axis: cut.ndim + place for place, axis in enumerate(moving)}
    window = [within.get(axis, axis) for axis in windows.offsets]
    return view.transpose([*windows.absent, *moving, *window])


def _torch_index_select(context: BuildContext[dialect.TorchIndexSelect]) -> Kernel:
    """Builds the gather of slices along an axis, the first axes of both being those of a batch."""
    (operand, indices), (result,) = map(extents, context.operands), map(extents, context.results)
    axis, batch = context.op.dim % len(operand), context.op.batch_dims
    lead = tuple(range(batch + len(indices) if batch < 0 else batch))
    if not operand[axis]:
        # Along an axis of nothing there is nothing but zero to select.
        return lambda array, places: np.zeros(result, array.dtype)
    if not lead:
        return lambda array, places: array.take(_signed(places), axis=axis, mode="clip")
    last = axis + len(indices) - len(lead)
    numbers = GatherNumbers(
        offset_dims=(*range(len(lead), axis), *range(last, len(result))),
        collapsed_slice_dims=(axis,),
        operand_batching_dims=lead,
        start_indices_batching_dims=lead,
        start_index_map=(axis,),
        index_vector_dim=len(indices),
    )
    sizes = tuple(1 if place in (axis, *lead) else each for place, each in enumerate(operand))
    return _gathered(context, numbers, sizes)


def _dynamic_gather(context: BuildContext[dialect.DynamicGather]) -> Kernel:
    """Builds the gather of the window that the result's type implies."""
    numbers, shape = context.op.dimension_numbers, extents(context.results[0])
    window = tuple([shape[axis] for axis in numbers.offset_dims])
    sizes = sizes_of(numbers, len(context.operands[0].shape), window)
    kernel = _gathered(context, numbers, sizes)
    return partial(stated, context.name, "the sizes", sizes, kernel)


BUILDERS: Final[Builders] = {
    dialect.DynamicGather: _dynamic_gather,
    dialect.Gather: lambda context: _gathered(
        context, context.op.dimension_numbers, context.op.slice_sizes
    ),
    dialect.TorchIndexSelect: _torch_index_select,
}
