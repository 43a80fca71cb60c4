"""Layout: the same elements under another shape, with none computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def _reshape(site: Site) -> Kernel:
    site.takes(1)
    (operand,), (result,) = site.operands, site.results
    same = operand.element == result.element
    site.demand(
        same and math.prod(extents(operand)) == math.prod(extents(result)),
        f"cannot turn {operand} into {result}",
    )
    return partial(_reshaped, extents(result))


def _reshaped(shape: Shape, array: Array) -> Array:
    return array.reshape(shape)


def _transpose(site: Site) -> Kernel:
    site.takes(1)
    (operand,) = site.operands
    shape = extents(operand)
    axes = site.axes("permutation", site.integers("permutation"), len(shape))
    site.demand(len(axes) == len(shape), f"needs {len(shape)} axes, got {list(axes)}")
    site.yields(operand._replace(shape=tuple(shape[axis] for axis in axes)))
    return partial(_transposed, axes)


def _transposed(axes: Shape, array: Array) -> Array:
    return array.transpose(axes)


def _broadcast_in_dim(site: Site) -> Kernel:
    site.takes(1)
    (operand,), (result,) = site.operands, site.results
    source, target = extents(operand), extents(result)
    key = "broadcast_dimensions"
    axes = site.axes(key, site.integers(key), len(target))
    site.demand(len(axes) == len(source), f"needs {len(source)} axes, got {list(axes)}")
    fits = all(extent in (1, target[axis]) for extent, axis in zip(source, axes, strict=True))
    site.demand(
        fits and operand.element == result.element,
        f"cannot broadcast {operand} along {list(axes)} to {result}",
    )
    # The axes may come in any order; the operand's follow that of the result's.
    order = tuple(sorted(range(len(axes)), key=lambda position: axes[position]))
    placed = [1] * len(target)
    for extent, axis in zip(source, axes, strict=True):
        placed[axis] = extent
    return partial(_broadcast, order, tuple(placed), target)


def _broadcast(order: Shape, placed: Shape, target: Shape, array: Array) -> Array:
    return np.broadcast_to(array.transpose(order).reshape(placed), target)


def _reverse(site: Site) -> Kernel:
    site.takes(1)
    (operand,) = site.operands
    axes = site.axes("dimensions", site.integers("dimensions"), len(operand.shape))
    site.yields(operand)
    every = tuple(
        slice(None, None, -1) if axis in axes else slice(None) for axis in range(len(operand.shape))
    )
    return partial(_part, every)


def _part(every: tuple[slice, ...], array: Array) -> Array:
    return np.asarray(array[every])


def _concatenate(site: Site) -> Kernel:
    site.demand(site.operands, "needs 1 operand at least, got 0")
    site.demand(len(site.results) == 1, f"has 1 result, got {len(site.results)}")
    first = site.operands[0]
    axis = site.integer("dimension")
    site.axes("dimension", (axis,), len(first.shape))
    total = 0
    for operand in site.operands:
        shape = extents(operand)
        fits = len(shape) == len(first.shape) and operand == first._replace(
            shape=(*first.shape[:axis], shape[axis], *first.shape[axis + 1 :])
        )
        site.demand(fits, f"cannot join {first} and {operand} along axis {axis}")
        total += shape[axis]
    site.yields(first._replace(shape=(*first.shape[:axis], total, *first.shape[axis + 1 :])))
    return partial(_joined, axis)


def _joined(axis: int, *arrays: Array) -> Array:
    return np.concatenate(arrays, axis=axis)


def _slice(site: Site) -> Kernel:
    site.takes(1)
    (operand,) = site.operands
    shape = extents(operand)
    starts, limits = site.integers("start_indices"), site.integers("limit_indices")
    strides = site.integers("strides", (1,) * len(shape))
    lengths = {len(starts), len(limits), len(strides)}
    site.demand(lengths == {len(shape)}, f"needs a range for each axis of {operand}")
    every: list[slice] = []
    kept: list[int] = []
    for start, limit, stride, extent in zip(starts, limits, strides, shape, strict=True):
        inside = 0 <= start <= limit <= extent and stride > 0
        site.demand(inside, f"needs ranges inside {operand}, got {start}:{limit}:{stride}")
        every.append(slice(start, limit, stride))
        kept.append(-(-(limit - start) // stride))
    site.yields(operand._replace(shape=tuple(kept)))
    return partial(_part, tuple(every))


def _pad(site: Site) -> Kernel:
    site.takes(2)
    operand, filler = site.operands
    shape = extents(operand)
    site.demand(filler == operand._replace(shape=()), f"needs a scalar filler, got {filler}")
    low = site.integers("edge_padding_low")
    high = site.integers("edge_padding_high")
    interior = site.integers("interior_padding", (0,) * len(shape))
    lengths = {len(low), len(high), len(interior)}
    site.demand(lengths == {len(shape)}, f"needs padding for each axis of {operand}")
    site.demand(min(interior, default=0) >= 0, "needs interior padding of zero or more")
    target = tuple(
        before + extent + max(extent - 1, 0) * between + after
        for before, extent, between, after in zip(low, shape, interior, high, strict=True)
    )
    site.demand(min(target, default=0) >= 0, f"cannot cut {operand} to {list(target)}")
    site.yields(operand._replace(shape=target))
    parts = [
        _window(before, extent, between + 1, wanted)
        for before, extent, between, wanted in zip(low, shape, interior, target, strict=True)
    ]
    return partial(
        _padded, target, tuple(part[0] for part in parts), tuple(part[1] for part in parts)
    )


def _window(low: int, extent: int, step: int, target: int) -> tuple[slice, slice]:
    """Returns which elements of an axis survive, and where they stand in the padded one."""
    first = max(0, -(low // step))
    last = min(extent, (target - 1 - low) // step + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    place = low + first * step
    return slice(first, last), slice(place, place + (last - first - 1) * step + 1, step)


def _padded(
    shape: Shape,
    taken: tuple[slice, ...],
    placed: tuple[slice, ...],
    array: Array,
    filler: Array,
) -> Array:
    result = np.empty(shape, array.dtype)
    result[...] = filler
    result[placed] = array[taken]
    return result


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
