"""Merging: an order by any comparator, all pairs of runs and all lanes at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topos.payload.kernels.canonical import Array

__all__ = ["merged_order"]

# Takes two arrays [lanes, n] of places and tells where the first one's value comes first.
Before = Callable[[Array, Array], Array]


def merged_order(before: Before, lanes: int, count: int) -> Array:
    """Returns [lanes, count], the stable order of each lane's places.

    Runs of 1, 2, 4, ... are merged in pairs: the left run's elements find their places among the
    right run's by bisection, which asks `before` log n times for each of log n levels. Any
    comparator gives an order; one that contradicts itself, some order.
    """
    order = np.broadcast_to(np.arange(count), (lanes, count))
    width = 1
    while width < count:
        order = _merged(before, order, width)
        width *= 2
    return order


def _merged(before: Before, order: Array, width: int) -> Array:
    lanes, count = order.shape
    places = np.arange(count)
    left = (places // width) % 2 == 0
    # The last left run has no partner where none is left, and stays.
    paired = left & (places // width * width + width < count)
    runs = _bisected(before, order, places[paired], width).reshape(lanes, -1, width)
    # Within a run no element comes before an earlier one, whatever the comparator says.
    passed = np.maximum.accumulate(runs, axis=2).reshape(lanes, -1)
    taken = np.zeros((lanes, count), np.bool_)
    taken[:, left & ~paired] = True
    np.put_along_axis(taken, places[paired] + passed, True, axis=1)
    result = np.empty_like(order)
    result[taken] = order[:, left].ravel()
    result[~taken] = order[:, ~left].ravel()
    return result


def _bisected(before: Before, order: Array, lefts: Array, width: int) -> Array:
    """Returns for each place of `lefts` how many elements of the run to its right come first."""
    lanes, count = order.shape
    start = lefts // width * width + width
    low = np.zeros((lanes, len(lefts)), np.int64)
    high = np.broadcast_to(np.minimum(width, count - start), low.shape)
    elements = order[:, lefts]
    for _ in range(width.bit_length()):
        middle = (low + high) // 2
        # Where the bisection is over, the comparison is of any element and changes nothing.
        probe = np.take_along_axis(order, np.minimum(start + middle, count - 1), axis=1)
        first = before(probe, elements)
        open = low < high
        low = np.where(open & first, middle + 1, low)
        high = np.where(open & ~first, middle, high)
    return low
