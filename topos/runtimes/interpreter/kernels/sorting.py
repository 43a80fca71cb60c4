"""Sort: operands rearranged together along one axis, by any comparator; the greatest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.bodies import Pointwise, pointwise
from topos.runtimes.interpreter.kernels.orders import Key, order_of, ranked, stable_order
from topos.runtimes.interpreter.program import Array, Kernel, single
from topos.stablehlo.dialect import sorting as dialect
from topos.stablehlo.types import dtype_of, is_complex, width


def _sort(context: BuildContext[dialect.Sort]) -> Kernel:
    count, rank = len(context.operands), len(context.operands[0].shape)
    axis = context.op.dimension
    axis += rank if axis < 0 else 0
    if not rank:
        return lambda *values: single(values)
    (body,) = context.regions
    keys = order_of(body, count)
    integers = dtype_of(context.operands[0]).kind in "iu"
    # Integers that compare as equal are equal, so that their order shows nowhere.
    if count == len(keys) == 1 and keys[0].slot == 0 and integers:
        return partial(_integers, axis, keys[0].descending)
    if keys:
        return partial(_by_keys, axis, count, keys)
    return partial(_by_comparator, axis, count, pointwise(body))


def _integers(axis: int, descending: bool, array: Array, *captures: Array) -> Array:
    """Sorts one operand of integers, by its own values."""
    ascending = np.sort(array, axis=axis)
    return np.flip(ascending, axis) if descending else ascending


def _by_keys(axis: int, count: int, keys: tuple[Key, ...], *values: Array) -> Any:
    """Sorts operands whose order is that of keys computed from them."""
    arrays, captures = values[:count], values[count:]
    ranks = [rank for key in keys for rank in key.ranks(arrays, captures)]
    return _rearranged(arrays, stable_order(ranks, axis), axis)


def _by_comparator(axis: int, count: int, compare: Pointwise, *values: Array) -> Any:
    """Sorts operands whose order only the comparator tells."""
    arrays, captures = values[:count], values[count:]
    if not arrays[0].size:
        return single(arrays)
    last = [np.moveaxis(array, axis, -1) for array in arrays]
    shape = last[0].shape
    lanes = [array.reshape(-1, shape[-1]) for array in last]

    def before(first: Array, second: Array) -> Array:
        sides = (first, second)
        pairs = [np.take_along_axis(lane, side, axis=1) for lane in lanes for side in sides]
        return compare(pairs, captures)[0]

    order = merged_order(before, len(lanes[0]), shape[-1]).reshape(shape)
    return _rearranged(arrays, np.moveaxis(order, -1, axis), axis)


def _rearranged(arrays: Sequence[Array], order: Array, axis: int) -> Any:
    if order.ndim == 1:
        return single([array[order] for array in arrays])
    return single([np.take_along_axis(array, order, axis) for array in arrays])


def _top_k(context: BuildContext[dialect.TopK]) -> Kernel:
    (operand,), (_, places) = context.operands, context.results
    if is_complex(operand):
        context.unsupported(f"of elements of {operand.element} is not supported")
    # The formats of four and six bits lie in eight, and have no NaN to order.
    total = width(operand.element) == 8 * dtype_of(operand).itemsize
    return partial(_greatest, context.op.k, total, dtype_of(places))


def _greatest(count: int, total: bool, dtype: np.dtype[Any], array: Array) -> tuple[Array, Array]:
    """Returns the greatest `count` in descending order; of equal ones the first comes first.

    Floats are in totalOrder: NaN above +inf, NaN with a set sign below -inf.
    """
    ranks = ranked(array, total=total, descending=True)
    order = stable_order((ranks,), array.ndim - 1)[..., :count]
    return np.take_along_axis(array, order, axis=-1), order.astype(dtype)


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


BUILDERS: Final[Builders] = {
    dialect.Sort: _sort,
    dialect.TopK: _top_k,
}
