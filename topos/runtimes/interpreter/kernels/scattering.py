"""Scatter: updates combined into an operand at computed indices, in row-major order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.bodies import Arrays
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.kernels.gathering import Windows, sizes_of, windows_of
from topos.runtimes.interpreter.kernels.writing import Writer, writer
from topos.runtimes.interpreter.program import Array, Axes, Kernel
from topos.stablehlo.dialect import scattering as dialect
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS"]


Starts = Mapping[int, Array]
# Windows of this many elements are written one by one: a slice costs less than their indices.
_LARGE_WINDOW: Final = 4096
# Where windows start along an axis that nothing moves them along.
_FIRST: Final = np.zeros((), np.intp)


def _scatter(context: BuildContext[dialect.Scatter]) -> Kernel:
    count = len(context.results)
    operand, indices, update = (context.operands[place] for place in (0, count, count + 1))
    numbers, shape = context.op.scatter_dimension_numbers, extents(update)
    placed = numbers.update_window_dims
    window = tuple(shape[axis] for axis in placed)
    windows = windows_of(numbers, indices, sizes_of(numbers, len(operand.shape), window))
    rest = tuple(axis for axis in range(len(shape)) if axis not in placed)
    dtypes = tuple(dtype_of(result) for result in context.results)
    return _Scatter(windows, (*rest, *placed), writer(context, context.regions[0]), dtypes)


@dataclass(frozen=True, slots=True)
class _Scatter:
    """The updates of each element in the order of their places; those outside are dropped.

    `front` are an update's axes in the order [batch, window].
    """

    windows: Windows
    front: Axes
    write: Writer
    dtypes: tuple[np.dtype[Any], ...]

    def __call__(self, *values: Array) -> Any:
        count = len(self.dtypes)
        updates = [
            converted(value, dtype)
            for value, dtype in zip(values[count + 1 : 2 * count + 1], self.dtypes, strict=True)
        ]
        captures = values[2 * count + 1 :]
        results = [
            np.array(converted(value, dtype), order="C")
            for value, dtype in zip(values[:count], self.dtypes, strict=True)
        ]
        if updates[0].size:
            starts = self.windows.starts(values[count])
            self._written(results, starts, updates, captures)
        return results if count > 1 else results[0]

    def _written(self, results: Arrays, starts: Starts, updates: Arrays, captures: Arrays) -> None:
        """Writes to `results`, in the cheapest of three ways that keep the order."""
        windows = self.windows
        batch_first = self.front == tuple(range(len(self.front)))
        if not windows.moving:
            self._by_rows(results, starts, updates, captures)
        elif batch_first and np.prod(windows.window) >= _LARGE_WINDOW:
            self._by_windows(results, starts, updates, captures)
        else:
            self._by_elements(results, starts, updates, captures)

    def _by_rows(self, results: Arrays, starts: Starts, updates: Arrays, captures: Arrays) -> None:
        """Writes windows that never overlap in part: one target a window.

        The order of the updates of one element is then that of the batch.
        """
        windows = self.windows
        cut = windows.cut(results[0].ndim)
        order = (*windows.absent, *windows.offsets)
        views = [result[cut].transpose(order) for result in results]
        shape = tuple(results[0].shape[axis] for axis in windows.absent)
        terms = [update.transpose(self.front).reshape(-1, *windows.window) for update in updates]
        places = [starts.get(axis, _FIRST) for axis in windows.absent]
        targets, kept = _targets(places, shape, windows.batch, terms)
        flat = [view.reshape(-1, *windows.window) for view in views]
        self.write(flat, targets, kept, captures)
        for view, rows in zip(views, flat, strict=True):
            # Where no view had this shape the rows are a copy.
            if not np.may_share_memory(view, rows):
                view[...] = rows.reshape(view.shape)

    def _by_windows(
        self, results: Arrays, starts: Starts, updates: Arrays, captures: Arrays
    ) -> None:
        """Writes one window after the other, cut where it reaches out of the operand."""
        whole = {axis: np.broadcast_to(start, self.windows.batch) for axis, start in starts.items()}
        target = np.zeros(1, np.intp)
        for place in np.ndindex(self.windows.batch):
            first = [
                int(whole[axis][place]) if axis in whole else 0 for axis in range(results[0].ndim)
            ]
            cut, within = self._inside(first, results[0].shape)
            views = [result[cut] for result in results]
            if not views[0].size:
                continue
            # What is one row here may lie in the operand with gaps.
            rows = [np.array(view)[None] for view in views]
            terms = [update[place][within].reshape(rows[0].shape) for update in updates]
            self.write(rows, target, terms, captures)
            for view, row in zip(views, rows, strict=True):
                view[...] = row[0]

    def _inside(self, first: list[int], shape: Axes) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Returns the part of an operand that a window covers, and which part of the window."""
        ranges = [
            (max(start, 0), min(start + size, extent))
            for start, size, extent in zip(first, self.windows.sizes, shape, strict=True)
        ]
        cut = tuple([slice(low, max(low, high)) for low, high in ranges])
        within = [
            slice(ranges[axis][0] - first[axis], ranges[axis][1] - first[axis])
            for axis in self.windows.offsets
        ]
        return cut, tuple(within)

    def _by_elements(
        self, results: Arrays, starts: Starts, updates: Arrays, captures: Arrays
    ) -> None:
        """Writes windows that may overlap in part: one target an element."""
        places = [self._places(axis, starts) for axis in range(results[0].ndim)]
        # Row-major order is that of the updates as they are given.
        layout = tuple(np.argsort(self.front))
        whole = [np.broadcast_to(place, self.windows.shape).transpose(layout) for place in places]
        terms = [update.reshape(-1) for update in updates]
        targets, kept = _targets(whole, results[0].shape, updates[0].shape, terms)
        self.write([result.reshape(-1) for result in results], targets, kept, captures)

    def _places(self, axis: int, starts: Starts) -> Array:
        """Returns the place along `axis` of every element of every window."""
        windows = self.windows
        place = starts.get(axis, _FIRST)
        place = place.reshape(*place.shape, *(1,) * len(windows.offsets))
        if axis not in windows.offsets:
            return place
        after = len(windows.offsets) - windows.offsets.index(axis) - 1
        return place + np.arange(windows.sizes[axis]).reshape(-1, *(1,) * after)


def _targets(places: list[Array], shape: Axes, batch: Axes, terms: Arrays) -> tuple[Array, Arrays]:
    """Returns the flat place in `shape` of each of a batch of terms, less those outside.

    `places` are those along each axis of `shape`, and broadcast to `batch`.
    """
    flat: Array = _FIRST
    inside: list[Array] = []
    for position, (place, extent) in enumerate(zip(places, shape, strict=True)):
        # Two reductions are cheaper than the comparisons, which most often find nothing.
        if place.min() < 0 or place.max() >= extent:
            inside.append((place >= 0) & (place < extent))
        flat = flat * extent + place if position else place
    targets = np.broadcast_to(flat, batch).reshape(-1)
    if not inside:
        return targets, terms
    kept = np.broadcast_to(reduce(np.logical_and, inside), batch).reshape(-1)
    return targets[kept], [term[kept] for term in terms]


BUILDERS: Final[Builders] = {dialect.Scatter: _scatter}
