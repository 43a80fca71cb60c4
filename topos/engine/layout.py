"""Layouts: where the elements of a value lie in its storage, and the views that move none."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from topos.op import Operation
from topos.payload import Shape


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
    steps = tuple([stride // itemsize for stride in layout.strides])
    found = _viewed_bytes(operation, layout.shape, steps)
    if found is None:
        return None
    shape, steps, start = found
    strides = tuple([step * itemsize for step in steps])
    return Layout(shape, strides, layout.offset + start * itemsize)


@lru_cache(maxsize=1024)
def _viewed_bytes(operation: Operation, shape: Shape, steps: tuple[int, ...]) -> Layout | None:
    """Returns the layout of a view of bytes, as numpy has it of memory that nobody has touched."""
    reach = sum([(extent - 1) * step for extent, step in zip(shape, steps, strict=True)])
    block = np.empty(reach + 1, np.uint8)
    result = operation.compute(np.ndarray(shape, np.uint8, block.data, 0, steps))
    if not np.may_share_memory(result, block):
        return None
    return Layout(result.shape, result.strides, result.ctypes.data - block.ctypes.data)
