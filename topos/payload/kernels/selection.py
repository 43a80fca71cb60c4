"""Selection by index along an axis, and its adjoint."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.payload.kernels.conversion import promoted, rounded

# More updates of one element than this are summed in one call; fewer, one call for each rank.
_MANY_UPDATES: Final = 64
# Up to here adding row by row is faster than sorting the rows first.
_FEW_ROWS: Final = 32


def gather(array: Array, indices: Array, axis: int, out: Array | None = None) -> Array:
    """Returns the slices of `array` at `indices` along `axis`, which they take the place of.

    Indices of any integer dtype and rank are clamped to `[0, extent - 1]`; the bits are kept.
    """
    # Unsigned indices need a dtype that numpy takes; signed ones it clamps itself.
    signed = np.asarray(indices).dtype.kind == "i"
    places = indices if signed else _clamped(indices, array.shape[axis])
    return np.asarray(np.take(array, places, axis=axis, out=out, mode="clip"))


@np.errstate(all="ignore")
def scatter(updates: Array, indices: Array, axis: int, extent: int) -> Array:
    """Returns `updates` added up at `indices` along an axis of `extent`: the adjoint of `gather`.

    The axes of `indices` stand at `axis` in `updates`. Each element starts at +0 and adds its
    updates in row-major order (rule 8 of the oracle), with the indices clamped as in `gather`; the
    16-bit floats accumulate in float32 and round once. Integers wrap.
    """
    before, after = updates.shape[:axis], updates.shape[axis + np.ndim(indices) :]
    places = _clamped(indices, extent).reshape(-1)
    rows = promoted(updates).reshape(math.prod(before), places.size, math.prod(after))
    totals = np.zeros((extent, rows.shape[0], rows.shape[2]), rows.dtype)
    _add_in_order(totals, np.ascontiguousarray(rows.transpose(1, 0, 2)), places)
    result = rounded(totals.transpose(1, 0, 2), updates.dtype)
    return result.reshape(*before, extent, *after)


def _clamped(indices: Array, extent: int) -> Array:
    indices = np.asarray(indices)
    if indices.dtype.kind == "u":
        # An unsigned index beyond the signed range would turn negative.
        highest = min(np.iinfo(indices.dtype).max, np.iinfo(np.intp).max)
        indices = np.minimum(indices, highest)
    places = np.minimum(indices.astype(np.intp), extent - 1)
    return np.asarray(np.maximum(places, 0))


def _add_in_order(totals: Array, rows: Array, places: Array) -> None:
    """Adds row t to `totals[places[t]]` for t ascending among the rows of each place."""
    if places.size <= _FEW_ROWS:
        for place, row in zip(places.tolist(), rows, strict=True):
            totals[place] += row
        return
    # A stable sort keeps the order of the rows of a place, each place's rows side by side; short
    # keys sort by digits.
    keys = places.astype(np.uint16) if len(totals) <= 1 << 16 else places
    order = np.argsort(keys, kind="stable")
    ascending = places[order]
    bounds = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    starts = np.concatenate(([0], bounds))
    targets, counts = ascending[starts], np.concatenate((bounds, [places.size])) - starts
    many = counts > _MANY_UPDATES
    for target, start, count in zip(targets[many], starts[many], counts[many], strict=True):
        totals[target] = _running_sum(rows[order[start : start + count]])
    # Rank by rank: each pass adds one row at each place that has so many.
    few = np.flatnonzero(~many)
    for rank in range(int(counts[few].max(initial=0))):
        few = few[counts[few] > rank]
        totals[targets[few]] += rows[order[starts[few] + rank]]


def _running_sum(rows: Array) -> Array:
    if rows[0].size > _MANY_UPDATES:
        total: Array = np.zeros_like(rows[0])
        for row in rows:
            np.add(total, row, total)
        return total
    # Every running sum is a result here, so the order of addition is fixed. Starting at +0
    # differs from starting at the first row only where all are -0.
    return np.asarray(np.add.accumulate(rows, axis=0)[-1] + 0)
