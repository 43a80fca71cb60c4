"""Legacy: operations that the standard still has, each the older form of a newer one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.layout import broadcast
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _broadcast(context: BuildContext) -> Kernel:
    """Builds what repeats the operand along new axes in front."""
    source, target = extents(context.operands[0]), extents(context.results[0])
    new = len(target) - len(source)
    return broadcast(source, tuple(range(new, len(target))), target)


def _torch_index_select(context: BuildContext) -> Kernel:
    """Builds what takes slices at indices, the first axes of both being those of a batch."""
    rank, axis, batch = (
        len(context.operands[1].shape),
        context.integer("dim"),
        context.integer("batch_dims"),
    )
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


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.torch_index_select": _torch_index_select,
}
