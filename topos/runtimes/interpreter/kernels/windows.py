"""Windows reduced by any body: the initial value, then their elements; and one chosen of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from topos.payload import without
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.bodies import Arrays, Combiner, Fold, combiner, fold_of
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.kernels.scattering import in_turns
from topos.runtimes.interpreter.kernels.sliding import Sliding, folded, folded_together
from topos.runtimes.interpreter.program import Array, Axes, Kernel, single
from topos.stablehlo.dialect import elementwise
from topos.stablehlo.dialect import windows as dialect_windows
from topos.stablehlo.types import dtype_of, extents

# So few windows are gone through one by one, each in a single call.
_FEW: Final = 64

# Up to here the elements of a window, one after another, are as fast as combinations of them.
_SHORT: Final = 16

# A running total of fewer lines than this spends its time on the calls of the body.
_NARROW: Final = 256


def _reduce_window(context: BuildContext[dialect_windows.ReduceWindow]) -> Kernel:
    op, shape = context.op, extents(context.operands[0])
    apart = op.base_dilations, op.window_dilations
    sliding = Sliding.of(context, shape, op.window_dimensions, op.padding, *apart)
    dtypes = tuple(dtype_of(result) for result in context.results)
    counts = extents(context.results[0])
    if 0 in counts:
        return lambda *values: single([np.empty(counts, dtype) for dtype in dtypes])
    only, alone = context.regions[0].only, len(dtypes) == 1
    # The extremes tell zeros apart in both postures.
    exact = context.exact or only in (elementwise.Maximum, elementwise.Minimum)
    fold = fold_of(only, dtypes[0], exact) if alone else None
    if fold is not None:
        return _Folded(fold, dtypes[0], sliding, counts)
    long = math.prod(sliding.size) > _SHORT
    body = combiner(context.regions[0])
    return _InOrder(body, dtypes, sliding, counts, anyhow=long and not context.exact)


@dataclass(frozen=True, slots=True)
class _Folded:
    """Windows of one operand, combined with the initial value by one well-known operation."""

    fold: Fold
    dtype: np.dtype[Any]
    sliding: Sliding
    counts: Axes

    def __call__(self, array: Array, start: Array) -> Array:
        array, start = converted(array, self.dtype), converted(start, self.dtype)
        combine, enter, leave, ordered = self.fold
        first = enter(start.reshape(1))[0]
        axis = _running_axis(self.sliding, self.counts, array.shape)
        if axis is not None and _keeps(combine, first):
            return leave(self._running(enter(array[tuple(map(slice, self.counts))]), first, axis))
        placed = enter(self.sliding.placed(array, start))
        if not ordered:
            total = folded(combine, placed, self.sliding, self.counts)
            return leave(np.asarray(combine(first, total)))
        if math.prod(self.counts) < _FEW:
            return leave(self._one_by_one(placed, start))
        total = np.full(self.counts, start, self.dtype)
        for offset in self.sliding.offsets():
            combine(total, placed[self.sliding.at(offset, self.counts)], out=total)
        return leave(total)

    def _running(self, array: Array, start: Array, axis: int) -> Array:
        terms, combine = np.array(array), self.fold.combine
        first = terms[(*(slice(None),) * axis, slice(1))]
        combine(start, first, out=first)
        return np.asarray(combine.accumulate(terms, axis=axis, dtype=terms.dtype))

    def _one_by_one(self, placed: Array, start: Array) -> Array:
        """Returns the totals of few windows, each a long one."""
        windows = self.sliding.windows(placed, self.counts, (False,) * len(self.counts))
        total = np.empty(self.counts, self.dtype)
        for place in np.ndindex(self.counts):
            terms = np.concatenate([start.reshape(1), windows[place].ravel()])
            total[place] = self.fold.combine.accumulate(terms)[-1]
        return total


@dataclass(frozen=True, slots=True)
class _InOrder:
    """Windows of several operands, combined together by any body one element after another.

    The standard wants an associative body, so Fast combines parts of long windows, `anyhow`.
    """

    combine: Combiner
    dtypes: tuple[np.dtype[Any], ...]
    sliding: Sliding
    counts: Axes
    anyhow: bool

    def __call__(self, *values: Array) -> Any:
        count = len(self.dtypes)
        captures = values[2 * count :]
        arrays, starts = (
            [converted(value, dtype) for value, dtype in zip(part, self.dtypes, strict=True)]
            for part in (values[:count], values[count : 2 * count])
        )
        axis = self._scanned_axis(arrays, starts, captures)
        if axis is None:
            return single(self._windowed(arrays, starts, captures))
        return single(self._scanned(arrays, starts, captures, axis))

    def _windowed(self, arrays: Arrays, starts: Arrays, captures: Arrays) -> tuple[Array, ...]:
        pairs = list(zip(arrays, starts, strict=True))
        placed = [self.sliding.placed(array, start) for array, start in pairs]
        totals = tuple([np.broadcast_to(start, self.counts) for start in starts])
        if self.anyhow:
            parts = folded_together(
                lambda left, right: self.combine(left, right, captures),
                tuple(placed),
                self.sliding,
                self.counts,
            )
            return self.combine(totals, parts, captures)
        for offset in self.sliding.offsets():
            index = self.sliding.at(offset, self.counts)
            totals = self.combine(totals, [array[index] for array in placed], captures)
        return tuple([np.asarray(total) for total in totals])

    def _scanned_axis(self, arrays: Arrays, starts: Arrays, captures: Arrays) -> int | None:
        """Returns the axis of running totals whose padding leaves the initial values alone."""
        axis = _running_axis(self.sliding, self.counts, arrays[0].shape)
        if axis is None or (self.anyhow and math.prod(without(self.counts, (axis,))) < _NARROW):
            return None
        twice = self.combine(starts, starts, captures)
        pairs = zip(twice, starts, strict=True)
        return axis if all(new.tobytes() == old.tobytes() for new, old in pairs) else None

    def _scanned(
        self, arrays: Arrays, starts: Arrays, captures: Arrays, axis: int
    ) -> tuple[Array, ...]:
        results = tuple([np.empty(self.counts, dtype) for dtype in self.dtypes])
        before: tuple[Any, ...] = (slice(None),) * axis
        shape = without(self.counts, (axis,))
        cut = tuple(map(slice, self.counts))
        terms = [array[cut] for array in arrays]
        totals = tuple([np.broadcast_to(start, shape) for start in starts])
        for place in range(self.counts[axis]):
            index: Any = (*before, place)
            totals = self.combine(totals, [term[index] for term in terms], captures)
            for result, total in zip(results, totals, strict=True):
                result[index] = total
        return results


def _running_axis(sliding: Sliding, counts: Axes, shape: Axes) -> int | None:
    """Returns the axis along which every window ends one element later, having begun before all.

    Such windows make running totals; the other axes have windows of one element.
    """
    wide = [axis for axis, size in enumerate(sliding.size) if size > 1]
    if len(wide) != 1:
        return None
    (axis,) = wide
    lows = tuple(low for low, _ in sliding.padding)
    wanted = tuple(size - 1 for size in sliding.size)
    steps = {*sliding.stride, *sliding.base, sliding.dilation[axis]}
    reaches = counts[axis] <= min(sliding.size[axis], shape[axis])
    return axis if lows == wanted and steps == {1} and reaches else None


def _keeps(combine: np.ufunc, start: Any) -> bool:
    """Returns whether elements of the padding leave the initial value what it is."""
    return bool(np.asarray(combine(start, start)).tobytes() == np.asarray(start).tobytes())


def _select_and_scatter(context: BuildContext[dialect_windows.SelectAndScatter]) -> Kernel:
    op, (shape, counts) = context.op, map(extents, context.operands[:2])
    sliding = Sliding.of(context, shape, op.window_dimensions, op.padding, (), ())
    select, scatter = map(combiner, context.regions)
    return _Selection(select, scatter, sliding, counts)


@dataclass(frozen=True, slots=True)
class _Selection:
    """The operand's shape filled with the initial value and combined with the source's elements.

    A window keeps its selected element while `select` of it and the next one is true, so its
    first element stands first; elements of the padding are never selected. Where several windows
    select one element, their source elements follow in row-major order.
    """

    select: Combiner
    scatter: Combiner
    sliding: Sliding
    counts: Axes

    def __call__(self, operand: Array, source: Array, start: Array, *captures: Array) -> Array:
        result = np.full(math.prod(operand.shape), start, operand.dtype)
        if source.size and operand.size:
            places = self._selected(operand, captures).ravel()
            order = np.flatnonzero(places >= 0)
            values = source.ravel()[order]
            in_turns(self.scatter, [result], places[order], [values], captures)
        return result.reshape(operand.shape)

    def _selected(self, operand: Array, captures: tuple[Array, ...]) -> Array:
        """Returns the row-major place of the element that each window selects, or -1 for none."""
        places = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
        placed = self.sliding.placed(operand, operand.dtype.type(0))
        inside = self.sliding.placed(places, -1)
        chosen = np.full(self.counts, -1, np.int64)
        value = np.zeros(self.counts, operand.dtype)
        for offset in self.sliding.offsets():
            index = self.sliding.at(offset, self.counts)
            candidate, place = placed[index], inside[index]
            (keeps,) = self.select((value,), (candidate,), captures)
            # A window without an element so far takes the first that it meets.
            taken = (place >= 0) & ((chosen < 0) | ~keeps)
            chosen = np.where(taken, place, chosen)
            value = np.where(taken, candidate, value)
        return chosen


BUILDERS: Final[Builders] = {
    dialect_windows.ReduceWindow: _reduce_window,
    dialect_windows.SelectAndScatter: _select_and_scatter,
}
