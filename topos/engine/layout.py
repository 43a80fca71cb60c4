"""Layouts: where the elements of a value lie in its storage, and the views that move none."""

from __future__ import annotations

from typing import NamedTuple

from topos.op import (
    Broadcast,
    BroadcastAlong,
    Narrow,
    Operation,
    Permute,
    Reshape,
    Transpose,
    Unfold,
)
from topos.payload import Shape, size


class Layout(NamedTuple):
    """A shape, the bytes from element to element along each axis, and those before the first."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0


def dense(shape: Shape, itemsize: int) -> Layout:
    """Returns the row-major layout without gaps."""
    strides, stride = [], itemsize
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return Layout(shape, tuple(reversed(strides)))


def viewed(operation: Operation, layout: Layout, itemsize: int) -> Layout | None:
    """Returns the layout of the result of `operation`, a view, or `None` where it must copy."""
    shape, strides, offset = layout
    match operation:
        case Broadcast():
            return Layout(operation.shape, (0,) * len(operation.shape), offset)
        case BroadcastAlong():
            extents, steps = list(shape), list(strides)
            for axis, extent in zip(operation.axes, operation.extents, strict=True):
                extents.insert(axis, extent)
                steps.insert(axis, 0)
            return Layout(tuple(extents), tuple(steps), offset)
        case Narrow():
            offset += sum(map(int.__mul__, operation.starts, strides))
            return Layout(operation.extents, strides, offset)
        case Permute():
            axes = operation.axes
            return Layout(
                tuple(shape[axis] for axis in axes), tuple(strides[axis] for axis in axes), offset
            )
        case Transpose():
            turned = (*strides[:-2], strides[-1], strides[-2])
            return Layout((*shape[:-2], shape[-1], shape[-2]), turned, offset)
        case Unfold():
            axis, window, step = operation.axis, operation.size, operation.step
            count = (shape[axis] - window) // step + 1
            return Layout(
                (*shape[:axis], count, *shape[axis + 1 :], window),
                (*strides[:axis], step * strides[axis], *strides[axis + 1 :], strides[axis]),
                offset,
            )
        case Reshape():
            return _reshaped(layout, operation.shape, itemsize)
    raise AssertionError(f"{operation.name} is no view")


def _reshaped(layout: Layout, wanted: Shape, itemsize: int) -> Layout | None:
    """Returns `layout` under the shape `wanted` where runs of axes split or join without a copy."""
    shape, strides, offset = layout
    if layout.strides == dense(shape, itemsize).strides or size(wanted) == 0:
        return dense(wanted, itemsize)._replace(offset=offset)
    axes = [(extent, step) for extent, step in zip(shape, strides, strict=True) if extent != 1]
    steps: list[int] = []
    place = 0
    for extent in wanted:
        if extent == 1:
            steps.append(itemsize)
            continue
        while place < len(axes) and axes[place][0] % extent and _joins(axes, place):
            inner, step = axes[place + 1]
            axes[place : place + 2] = [(axes[place][0] * inner, step)]
        whole, step = axes[place]
        if whole % extent:
            return None
        steps.append(step * (whole // extent))
        axes[place] = (whole // extent, step)
        place += whole == extent
    return Layout(wanted, tuple(steps), offset)


def _joins(axes: list[tuple[int, int]], place: int) -> bool:
    """Returns whether the axis at `place` and the next one are one axis in memory."""
    if place + 1 >= len(axes):
        return False
    (_, outer), (inner, step) = axes[place : place + 2]
    return outer == inner * step
