"""Sliding windows: where they stand over the trailing axes of an array, dilated and padded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.program import Axes
from topos.stablehlo.types import MAXIMUM_SIZE

__all__ = ["Sliding", "blocks"]


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size` elements along as many trailing axes, one each `stride`.

    The array first gets `base` - 1 elements between its own and then `padding` on both ends,
    where a negative padding removes elements. Elements of a window lie `dilation` apart.
    """

    size: Axes
    stride: Axes
    padding: tuple[tuple[int, int], ...]
    base: Axes
    dilation: Axes

    @classmethod
    def of(
        cls, context: BuildContext[Any], shape: Axes, size: Axes, padding: Any, *dilations: Axes
    ) -> Sliding:
        """Returns the windows of an operation over an operand of `shape`.

        `dilations` are those of the operand and of the windows. What is left out is one along every
        axis, or no padding. Refuses an operand that no machine holds once it is placed.
        """
        ones, padding = (1,) * len(size), padding or ((0, 0),) * len(size)
        base, dilation = (each or ones for each in dilations)
        windows = cls(size, context.op.window_strides or ones, padding, base, dilation)
        placed = windows.shape(shape)
        if math.prod(extent for extent in placed if extent) > MAXIMUM_SIZE:
            told = f"of an operand dilated and padded to {list(placed)} is not supported"
            context.unsupported(told)
        return windows

    def counts(self, shape: Axes) -> Axes:
        """Returns how many windows there are along each axis of an array's trailing `shape`."""
        counts = []
        for axis, extent in enumerate(shape):
            between = (extent - 1) * self.base[axis] + 1 if extent else 0
            padded = between + sum(self.padding[axis])
            span = (self.size[axis] - 1) * self.dilation[axis] + 1
            fits = padded > 0 and span <= padded
            counts.append((padded - span) // self.stride[axis] + 1 if fits else 0)
        return tuple(counts)

    def shape(self, shape: Axes) -> Axes:
        """Returns the shape of an array of `shape` once dilated, and padded where that adds."""
        first = len(shape) - len(self.size)
        along = zip(shape[first:], self.base, self.padding, strict=True)
        return shape[:first] + tuple(
            max(low, 0) + ((extent - 1) * base + 1 if extent else 0) + max(high, 0)
            for extent, base, (low, high) in along
        )

    def placed(self, array: Array, fill: npt.ArrayLike) -> Array:
        """Returns `array`, or a copy of it dilated and padded with `fill`."""
        if not any(map(any, self.padding)) and set(self.base) <= {1}:
            return array
        shape, inside = self.shape(array.shape), [slice(None)] * array.ndim
        kept: list[Any] = [...]
        first = array.ndim - len(self.size)
        for axis, ((low, high), base) in enumerate(
            zip(self.padding, self.base, strict=True), first
        ):
            inside[axis] = slice(max(low, 0), shape[axis] - max(high, 0), base)
            kept.append(slice(max(-low, 0), max(shape[axis] - max(-high, 0), 0)))
        result = np.full(shape, fill, array.dtype)
        result[tuple(inside)] = array
        return np.asarray(result[tuple(kept)])

    def offsets(self) -> Iterator[Axes]:
        """Yields the places within a window in row-major order."""
        return np.ndindex(self.size)

    def at(self, offset: Axes, counts: Axes) -> tuple[Any, ...]:
        """Returns the index of what every window holds at `offset` of a placed array."""
        return (
            ...,
            *(
                slice(place * dilation, place * dilation + (count - 1) * stride + 1, stride)
                for place, dilation, count, stride in zip(
                    offset, self.dilation, counts, self.stride, strict=True
                )
            ),
        )

    def windows(self, placed: Array, counts: Axes, reversal: tuple[bool, ...]) -> Array:
        """Returns [..., counts, size] of a placed array as a read-only view.

        A window runs backward along the axes of `reversal`. There must be a window.
        """
        along = tuple(range(placed.ndim - len(self.size), placed.ndim))
        spans = [(size - 1) * gap + 1 for size, gap in zip(self.size, self.dilation, strict=True)]
        view = sliding_window_view(placed, spans, axis=along)
        within = [
            slice(None, None, -gap if back else gap)
            for gap, back in zip(self.dilation, reversal, strict=True)
        ]
        return np.asarray(view[(*self.at((0,) * len(counts), counts), *within)])


def blocks(shape: Axes, limit: int) -> Iterator[tuple[slice, ...]]:
    """Yields slices that divide an array of `shape` in order, each of at most `limit` elements."""
    rest = 1
    split = len(shape)
    while split and rest * shape[split - 1] <= limit:
        split -= 1
        rest *= shape[split]
    whole = (slice(None),) * (len(shape) - split)
    if split == 0:
        yield whole
        return
    step = max(1, limit // rest)
    for outer in np.ndindex(shape[: split - 1]):
        ones = tuple(slice(place, place + 1) for place in outer)
        for start in range(0, shape[split - 1], step):
            yield (*ones, slice(start, start + step), *whole)
