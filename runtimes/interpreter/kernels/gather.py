"""Gather: windows of an operand at computed indices, which are clamped to lie inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.windows import Windows, windows_of
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]

_KEYS: Final = (
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
)


def _gather(context: BuildContext) -> Kernel:
    numbers = context.fields("dimension_numbers")
    windows = windows_of(
        context, numbers, _KEYS, context.operands[1], context.integers("slice_sizes")
    )
    placed = context.integers_of(numbers.get("offset_dims", ()), "offset_dims")
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


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.gather": _gather}
