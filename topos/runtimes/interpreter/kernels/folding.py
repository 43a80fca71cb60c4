"""Folding: windows combined along one axis after another, by operations that have no order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.kernels.sliding import Sliding
from topos.runtimes.interpreter.program import Axes

__all__ = ["folded", "folded_together"]

Arrays = tuple[Array, ...]
Combine = Callable[[Arrays, Arrays], Arrays]

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


def folded_together(combine: Combine, arrays: Arrays, sliding: Sliding, counts: Axes) -> Arrays:
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


def _doubled(combine: Combine, arrays: Arrays, axis: int, line: _Line) -> Arrays:
    """Combines windows of powers of two elements, of which those of the size's bits follow."""
    result: Arrays = ()
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
