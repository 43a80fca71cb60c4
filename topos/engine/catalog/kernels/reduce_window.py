"""Maxima of windows at home, and the gradient that goes to the first place of each maximum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from topos.engine.catalog.reduce_window import ReduceWindow
from topos.engine.choices import Choices
from topos.op import Array
from topos.payload import Shape, TensorType


def home(
    form: ReduceWindow, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel that compares whole slices, an axis after the other."""
    return _Maxima(form, choices.exact)


def home_gradient(
    form: ReduceWindow, types: Sequence[TensorType], choices: Choices
) -> Callable[..., Array] | str:
    """Returns the kernel, under `EXACT` for windows that do not overlap.

    Where they do, the recorded sum goes an axis after the other, and this one does not.
    """
    exact = choices.exact
    overlaps = any(step < size for step, size in zip(form.steps, form.sizes, strict=True))
    if exact and overlaps:
        return "no kernel of windows that overlap has the oracle's bits"
    return _Gradient(form, exact, overlaps)


@dataclass(frozen=True, slots=True)
class _Maxima:
    """The kernel of the maxima; `exact` settles which of two unlike zeros is the larger.

    The first axis comes first: its lanes are whole rows, and the strided ones are then fewer.
    """

    form: ReduceWindow
    exact: bool

    def __call__(self, source: Array, *, out: Array | None = None) -> Array:
        result = source
        axes = list(zip(self.form.axes, self.form.sizes, self.form.steps, strict=True))
        for place, (axis, size, step) in enumerate(axes):
            last = place == len(axes) - 1
            result = _reduced(result, axis, size, step, out if last else None)
        if self.exact:
            self._settle(source, result)
        return result

    def _settle(self, source: Array, result: Array) -> None:
        """Gives each maximum of zero its sign: it is -0 where every zero is."""
        zero = result == 0
        if not zero.any():
            return
        negative = np.signbit(source)
        for axis, size, step in zip(self.form.axes, self.form.sizes, self.form.steps, strict=True):
            negative = _all_along(negative, axis, size, step)
        np.copyto(result, np.where(negative, -0.0, 0.0), where=zero, casting="same_kind")


@dataclass(frozen=True, slots=True)
class _Gradient:
    """The kernel of the gradient; where windows overlap, an element may receive several."""

    form: ReduceWindow
    exact: bool
    overlaps: bool

    def __call__(
        self, source: Array, output: Array, cotangent: Array, *, out: Array | None = None
    ) -> Array:
        result = np.empty(source.shape, source.dtype) if out is None else out
        if not self._covers(source.shape):
            result.fill(0)
        # The recorded sum starts at +0, to which a cotangent of -0 adds nothing.
        given = cotangent + cotangent.dtype.type(0) if self.exact else cotangent
        bits = np.dtype(f"i{given.itemsize}")
        words, target = given.view(bits), result.view(bits)
        free = np.ones(output.shape, np.bool_)
        for lane in _lanes(self.form, output.shape):
            chosen = source[lane] == output
            chosen &= free
            free ^= chosen
            # A mask of bits chooses as `where` does, several times as fast.
            mask = np.negative(chosen.view(np.int8)).astype(bits)
            if self.overlaps:
                np.add(result[lane], np.bitwise_and(words, mask).view(result.dtype), result[lane])
            else:
                np.bitwise_and(words, mask, out=target[lane])
        return result

    def _covers(self, shape: Shape) -> bool:
        """Returns whether every element of the source is in exactly one window."""
        return self.form.sizes == self.form.steps and all(
            shape[axis] % size == 0
            for axis, size in zip(self.form.axes, self.form.sizes, strict=True)
        )


def _reduced(array: Array, axis: int, size: int, step: int, out: Array | None) -> Array:
    """Returns the maxima of the windows along one axis."""
    lanes = [array[lane] for lane in _along(array.shape, axis, size, step)]
    if size == 1:
        result = lanes[0].copy() if out is None else out
        result[...] = lanes[0]
        return result
    result = np.maximum(lanes[0], lanes[1], out=out)
    for lane in lanes[2:]:
        np.maximum(result, lane, out=result)
    return np.asarray(result)


def _all_along(array: Array, axis: int, size: int, step: int) -> Array:
    first, *others = (array[lane] for lane in _along(array.shape, axis, size, step))
    result = first.copy()
    for lane in others:
        result &= lane
    return result


def _along(shape: Shape, axis: int, size: int, step: int) -> Iterator[tuple[slice, ...]]:
    count = (shape[axis] - size) // step + 1
    before = (slice(None),) * axis
    for position in range(size):
        yield (*before, slice(position, position + step * (count - 1) + 1, step))


def _lanes(form: ReduceWindow, counts: Shape) -> Iterator[tuple[slice, ...]]:
    """Yields the box of each place in a window, in row-major order of the places."""
    for positions in product(*map(range, form.sizes)):
        box = [slice(None)] * len(counts)
        for axis, position, step in zip(form.axes, positions, form.steps, strict=True):
            box[axis] = slice(position, position + step * (counts[axis] - 1) + 1, step)
        yield tuple(box)
