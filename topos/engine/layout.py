"""Where the elements of a value lie in its storage, and where storages lie in one block."""

from __future__ import annotations

from bisect import bisect_left, insort
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
    reach = sum([extent * step for extent, step in zip(shape, steps, strict=True)])
    block = np.empty(reach + 1, np.uint8)
    result = operation.compute(np.ndarray(shape, np.uint8, block.data, 0, steps))
    if not np.may_share_memory(result, block):
        return None
    return Layout(result.shape, result.strides, result.ctypes.data - block.ctypes.data)


# A cache line; what a vector instruction likes best.
_ALIGNMENT = 64


class Allocator:
    """Offsets into one block: the smallest gap that fits, else the end of the block.

    Neighbouring gaps join, so that buffers of unlike sizes follow one another in one place.
    """

    def __init__(self) -> None:
        self.size = 0
        self._gaps: list[tuple[int, int]] = []
        self._by_start: dict[int, int] = {}
        self._by_end: dict[int, int] = {}

    def allocate(self, length: int) -> int:
        """Returns the offset of `length` bytes that nothing else holds."""
        wanted = _rounded(length)
        place = bisect_left(self._gaps, (wanted, -1))
        if place < len(self._gaps):
            extent, start = self._gaps[place]
            self._remove(start, extent)
            if extent > wanted:
                self._insert(start + wanted, extent - wanted)
            return start
        # A gap at the end of the block grows by what it lacks.
        extent = self._by_end.get(self.size, 0)
        start = self.size - extent
        if extent:
            self._remove(start, extent)
        self.size = start + wanted
        return start

    def free(self, start: int, length: int) -> None:
        """Takes back `length` bytes at the offset `start`."""
        extent = _rounded(length)
        before = self._by_end.get(start)
        if before is not None:
            start -= before
            extent += before
            self._remove(start, before)
        after = self._by_start.get(start + extent)
        if after is not None:
            self._remove(start + extent, after)
            extent += after
        self._insert(start, extent)

    def _insert(self, start: int, extent: int) -> None:
        insort(self._gaps, (extent, start))
        self._by_start[start], self._by_end[start + extent] = extent, extent

    def _remove(self, start: int, extent: int) -> None:
        del self._gaps[bisect_left(self._gaps, (extent, start))]
        del self._by_start[start], self._by_end[start + extent]


def _rounded(length: int) -> int:
    return max(-(-length // _ALIGNMENT), 1) * _ALIGNMENT
