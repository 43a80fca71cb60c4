"""Scatter: updates combined into an operand at computed indices, in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.dataflow import backward_slice
from topos.runtimes.interpreter.kernels.bodies import Arrays, Combiner, Fold, combiner, fold_of
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.kernels.gathering import Windows, sizes_of, windows_of
from topos.runtimes.interpreter.program import Array, Axes, Kernel, Program
from topos.stablehlo.dialect import scattering as dialect
from topos.stablehlo.types import dtype_of, extents

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

# Takes rows [targets, ...] to write to, the target of each update, updates [n, ...] in the order in
# which they count, and what the body captures.
Writer = Callable[[Arrays, Array, Arrays, Arrays], None]

# A turn costs as much as this many rows do that numpy takes over element by element.
_ROWS_A_TURN: Final = 32


def writer(context: BuildContext[Any], body: Program) -> Writer:
    """Returns how `body` writes: by the last update alone, by a ufunc, or turn by turn."""
    count = len(context.results)
    reads = backward_slice(body, body.outputs)
    if reads.isdisjoint(range(count)):
        return partial(_last, combiner(body))
    turns = partial(in_turns, combiner(body))
    fold = fold_of(body.only, dtype_of(context.results[0]), context.exact) if count == 1 else None
    return turns if fold is None else partial(_at_once, fold, turns)


def _last(
    combine: Combiner, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays
) -> None:
    """Writes by a body that does not look at what is there: the last update of a row remains."""
    for row, update in zip(rows, combine(updates, updates, captures), strict=True):
        # numpy assigns in the order of the indices.
        row[targets] = update


def _at_once(
    fold: Fold, turns: Writer, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays
) -> None:
    """Writes by one well-known operation, which numpy does one update after the other."""
    (row,), (update,) = rows, updates
    if row.ndim > 1 and _seldom_repeats(targets):
        turns(rows, targets, updates, captures)
        return
    wide = fold.enter(row)
    fold.combine.at(wide, targets, fold.enter(update))
    # What was not written keeps its bits.
    if wide is not row:
        row[targets] = fold.leave(wide[targets])
    elif fold.ordered and np.isnan(written := row[targets]).any():
        row[targets] = fold.leave(written)


def _seldom_repeats(targets: Array) -> bool:
    """Returns whether rows are written in so few turns that these beat numpy's single elements."""
    return len(targets) > 0 and int(np.bincount(targets).max()) * _ROWS_A_TURN <= len(targets)


def in_turns(
    combine: Combiner, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays
) -> None:
    """Writes by any body, in turns of which each writes a row at most once."""
    for places, chosen in _turns(targets):
        combined = combine(
            [row[places] for row in rows], [update[chosen] for update in updates], captures
        )
        for row, result in zip(rows, combined, strict=True):
            row[places] = result


def _turns(targets: Array) -> Iterator[tuple[Array, Array]]:
    """Yields the targets of each turn and the updates that they take, in the updates' order."""
    if not len(targets):
        return
    # A stable sort keeps the order of the updates of one target, and they lie side by side.
    order = np.argsort(targets, kind="stable")
    ascending = targets[order]
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    places, counts = ascending[first], np.diff(first, append=len(ascending))
    # With the targets of most updates in front, those of each turn are the leading ones.
    most = np.argsort(-counts, kind="stable")
    places, first, counts = places[most], first[most], counts[most]
    left = len(places)
    for turn in range(int(counts[0])):
        while counts[left - 1] <= turn:
            left -= 1
        yield places[:left], order[first[:left] + turn]
