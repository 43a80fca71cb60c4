"""Sliding windows: where they stand over the trailing axes of an array, and what they come to.

Windows are combined along one axis after another, by operations that have no order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.program import Axes
from topos.stablehlo.types import MAXIMUM_SIZE


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


Parts = tuple[Array, ...]
Combine = Callable[[Parts, Parts], Parts]

# So many calls on slices cost less than what else they would take.
_FEW: Final = 64


def folded(combine: np.ufunc, array: Array, sliding: Sliding, counts: Axes) -> Array:
    """Returns what each window of a placed array comes to, an array of shape `counts`.

    The work grows with the logarithm of a window's size and the memory not at all. There must be
    a window.
    """
    for axis, count in enumerate(counts):
        line = _Line(sliding.size[axis], sliding.stride[axis], sliding.dilation[axis], count)
        array = _along(combine, array, axis, line)
    return array


def folded_together(combine: Combine, arrays: Parts, sliding: Sliding, counts: Axes) -> Parts:
    """Returns what each window of several placed arrays comes to, as `folded` does of one.

    `combine` need not commute: the elements of a window stay in row-major order.
    """
    for axis in reversed(range(len(counts))):
        line = _Line(sliding.size[axis], sliding.stride[axis], sliding.dilation[axis], counts[axis])
        arrays = _doubled(combine, arrays, axis, line)
    return arrays


class _Line(NamedTuple):
    """The windows along one axis."""

    size: int
    stride: int
    dilation: int
    windows: int

    def cut(self, array: Array, axis: int, start: int) -> Array:
        """Returns the elements `start` places into each window."""
        end = start + (self.windows - 1) * self.stride + 1
        return _cut(array, axis, slice(start, end, self.stride))


def _along(combine: np.ufunc, array: Array, axis: int, line: _Line) -> Array:
    size, extent = line.size, array.shape[axis]
    steps = size.bit_length() + size.bit_count() - 2
    if size == 1:
        return line.cut(array, axis, 0)
    if line.windows * (size - 1) <= steps * extent:
        taken = _few if size <= _FEW else _spread
        return taken(combine, array, axis, line)
    (result,) = _doubled(lambda left, right: (combine(left[0], right[0]),), (array,), axis, line)
    return result


def _few(combine: np.ufunc, array: Array, axis: int, line: _Line) -> Array:
    pieces = [line.cut(array, axis, place * line.dilation) for place in range(line.size)]
    result = np.asarray(combine(pieces[0], pieces[1]))
    for piece in pieces[2:]:
        combine(result, piece, out=result)
    return result


def _spread(combine: np.ufunc, array: Array, axis: int, line: _Line) -> Array:
    """Reduces a view of all windows, which hardly overlap."""
    view = sliding_window_view(array, (line.size - 1) * line.dilation + 1, axis=axis)
    view = line.cut(view, axis, 0)[..., :: line.dilation]
    # Without a dtype numpy would sum narrow integers in wide ones.
    return np.asarray(combine.reduce(view, axis=-1, dtype=array.dtype))


def _doubled(combine: Combine, arrays: Parts, axis: int, line: _Line) -> Parts:
    """Combines windows of powers of two elements, of which those of the size's bits follow."""
    result: Parts = ()
    done, length = 0, 1
    while True:
        if line.size & length:
            pieces = tuple([line.cut(array, axis, done * line.dilation) for array in arrays])
            result = combine(result, pieces) if result else pieces
            done += length
        if done == line.size:
            return result
        shift = length * line.dilation
        heads = tuple([_cut(array, axis, slice(array.shape[axis] - shift)) for array in arrays])
        tails = tuple([_cut(array, axis, slice(shift, None)) for array in arrays])
        arrays, length = combine(heads, tails), 2 * length


def _cut(array: Array, axis: int, part: slice) -> Array:
    return array[(*(slice(None),) * axis, part)]
