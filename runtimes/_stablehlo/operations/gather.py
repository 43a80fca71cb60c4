"""Gather: windows of an operand at computed indices, which are clamped to lie inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import selection
from topos.runtimes._stablehlo.operations.windows import Windows, windows_of
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Axes = tuple[int, ...]

_KEYS: Final = (
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
)


def _gather(site: Site) -> Kernel:
    site.takes(2)
    operand, indices = site.operands
    numbers = site.attribute("dimension_numbers")
    if not isinstance(numbers, dict):
        site.refuse("needs dimension_numbers = #stablehlo.gather<...>")
    sizes = site.integers("slice_sizes")
    windows = windows_of(site, numbers, _KEYS, operand, indices, sizes)
    placed = site.integers_of(numbers.get("offset_dims", ()), "offset_dims")
    shape = windows.shape
    site.ascending("offset_dims", placed, len(shape))
    site.demand(len(placed) == len(windows.offsets), f"needs {len(windows.offsets)} offset_dims")
    rest = tuple(axis for axis in range(len(shape)) if axis not in placed)
    # Where each axis of the result stands in [batch, window].
    layout = tuple(int(axis) for axis in np.argsort((*rest, *placed)))
    site.yields(operand._replace(shape=tuple(shape[axis] for axis in layout)))
    return _rows(windows, extents(operand), layout) or _Gather(windows, layout)


@dataclass(frozen=True, slots=True)
class _Gather:
    """The general form: one place an element."""

    windows: Windows
    layout: Axes

    def __call__(self, array: Array, indices: Array) -> Array:
        starts = self.windows.starts(indices)
        components = self.windows.components
        limits = [array.shape[axis] - self.windows.sizes[axis] for axis in components]
        places = self.windows.places(np.clip(starts, 0, np.array(limits, np.int64)))
        if not places:
            return np.broadcast_to(array, self.windows.shape)
        return array[tuple(places)].transpose(self.layout)


def _rows(windows: Windows, shape: Axes, layout: Axes) -> Kernel | None:
    """Returns the oracle's kernel where whole slices are taken along one axis."""
    if len(windows.components) != 1 or windows.batching:
        return None
    (axis,) = windows.components
    others = (*shape[:axis], *shape[axis + 1 :])
    whole = (*windows.sizes[:axis], *windows.sizes[axis + 1 :]) == others
    if axis in windows.offsets or not whole or shape[axis] == 0:
        return None
    # The slices come as [before, batch, after]; the batch belongs in front.
    batch = range(axis, axis + len(windows.batch))
    total = len(windows.shape)
    front = (*batch, *(place for place in range(total) if place not in batch))
    return partial(_taken, windows, axis, tuple(front[place] for place in layout))


def _taken(windows: Windows, axis: int, layout: Axes, array: Array, indices: Array) -> Array:
    starts = windows.starts(indices)[..., 0]
    return selection.gather(array, starts, axis).transpose(layout)


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.gather": _gather}
