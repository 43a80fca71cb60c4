"""The matrix product: each element summed in ascending order of the contracted index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array, is_float
from topos.payload.kernels.conversion import promoted, rounded

# A tile's sums and the products of one step lie in the second-level cache together.
_TILE_BYTES: Final = 1 << 18
# A vector axis this long hides the cost of a call for each row of a tile.
_LONG_AXIS: Final = 512
# Below this many sums, running sums in one call beat one call for each step.
_FEW_SUMS: Final = 64
# An operand that has to be copied, turned or widened, is so in parts of about this many bytes.
_PART_BYTES: Final = 1 << 25


@np.errstate(all="ignore")
def matmul(left: Array, right: Array) -> Array:
    """Returns `[..., m, k]` times `[..., k, n]` as `[..., m, n]`; leading axes are equal.

    Each element starts at +0 and adds, for k ascending, the rounded product, with one rounding
    for each addition (rule 6 of the oracle); no fused multiply-add, no library product. The 16-bit
    floats accumulate in float32 and round once at the end. Integers wrap.
    """
    left, right = np.asarray(left), np.asarray(right)
    if not is_float(left.dtype):
        # Addition modulo a power of two has no order, so any product of integers has the bits.
        return np.asarray(np.matmul(left, right))
    (rows, depth), columns = left.shape[-2:], right.shape[-1]
    row_cuts, column_cuts = cuts(left, -2), cuts(right, -1)
    if len(row_cuts) * len(column_cuts) > 1:
        return in_parts(matmul, left, right, row_cuts, column_cuts)
    batch = math.prod(left.shape[:-2])
    first = promoted(left).reshape(batch, rows, depth)
    second = promoted(right).reshape(batch, depth, columns)
    order = _order(batch, rows, columns)
    # Both operands as [depth, batch, rows, columns], the vector axis of the tiles last.
    across = (0, *(axis + 1 for axis in order))
    outer_left = first.transpose(2, 0, 1)[..., None].transpose(across)
    outer_right = second.transpose(1, 0, 2)[:, :, None].transpose(across)
    totals = np.zeros(tuple((batch, rows, columns)[axis] for axis in order), first.dtype)
    _accumulate_tiles(outer_left, outer_right, totals)
    plain = totals.transpose(tuple(order.index(axis) for axis in range(3)))
    result = rounded(np.ascontiguousarray(plain), left.dtype)
    return result.reshape(*left.shape[:-1], columns)


def cuts(operand: Array, axis: int) -> list[slice]:
    """Returns slices of an axis of an operand, such that a copy of each is small."""
    extent, itemsize = operand.shape[axis], max(4, operand.itemsize)
    step = max(1, extent * _PART_BYTES // max(1, operand.size * itemsize))
    return [slice(first, first + step) for first in range(0, extent, step)]


def in_parts(
    product: Callable[[Array, Array], Array],
    left: Array,
    right: Array,
    rows: Sequence[slice],
    columns: Sequence[slice],
) -> Array:
    """Returns the `product` of some rows and some columns at a time: no element reads another."""
    result = np.empty((*left.shape[:-1], right.shape[-1]), left.dtype)
    for row in rows:
        for column in columns:
            result[..., row, column] = product(left[..., row, :], right[..., column])
    return result


def _order(batch: int, rows: int, columns: int) -> tuple[int, int, int]:
    """Returns the axes of [batch, rows, columns] with the one to compute along last."""
    if columns >= min(_LONG_AXIS // 2, max(batch, rows)):
        return 0, 1, 2
    return (0, 2, 1) if rows >= batch else (1, 2, 0)


def _accumulate_tiles(left: Array, right: Array, totals: Array) -> None:
    limit = _TILE_BYTES // totals.itemsize
    if totals.size <= limit:
        _accumulate(np.ascontiguousarray(left), np.ascontiguousarray(right), totals)
        return
    for tile in _tiles(totals.shape, limit):
        sums = np.zeros_like(totals[tile])
        _accumulate(_part(left, tile), _part(right, tile), sums)
        totals[tile] = sums


def _part(operand: Array, tile: tuple[slice, ...]) -> Array:
    """Returns what a tile needs of an operand, contiguous; an axis of one serves every tile.

    Turning a part at a time keeps the strided reads in the cache.
    """
    whole = slice(None)
    cuts = (
        whole if extent == 1 else cut for cut, extent in zip(tile, operand.shape[1:], strict=True)
    )
    return np.ascontiguousarray(operand[:, *cuts])


def _tiles(shape: tuple[int, ...], limit: int) -> Iterator[tuple[slice, slice, slice]]:
    outer, middle, inner = shape
    inner_step = max(1, min(inner, max(_LONG_AXIS, limit // middle)))
    middle_step = max(1, min(middle, limit // inner_step))
    outer_step = max(1, limit // (inner_step * middle_step))
    for first in range(0, outer, outer_step):
        for second in range(0, middle, middle_step):
            for third in range(0, inner, inner_step):
                yield (
                    slice(first, first + outer_step),
                    slice(second, second + middle_step),
                    slice(third, third + inner_step),
                )


def _accumulate(left: Array, right: Array, totals: Array) -> None:
    """Adds the products of each step, in order, to `totals`."""
    depth, size = left.shape[0], totals.size
    if depth == 0 or size == 0:
        return
    chunk = min(depth, max(1, _TILE_BYTES // (totals.itemsize * size)))
    buffer = np.empty((chunk, *totals.shape), totals.dtype)
    for first in range(0, depth, chunk):
        products = buffer[: min(chunk, depth - first)]
        np.multiply(left[first : first + chunk], right[first : first + chunk], products)
        if size <= _FEW_SUMS:
            # Every running sum is a result here, so the order of addition is fixed.
            np.add(totals, products[0], products[0])
            totals[...] = np.add.accumulate(products, axis=0)[-1]
            continue
        for product in products:
            np.add(totals, product, totals)
