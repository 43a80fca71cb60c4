"""Slicing: a box of a value, the zeros around one, joined values, and sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Function, Operation, R
from topos.payload import Shape, TensorType, kernels


class Narrow(Operation, name="narrow", arity=1, is_view=True):
    """The box of `extents` that begins at `starts`, one of each an axis."""

    __slots__ = ("extents", "starts")
    starts: tuple[int, ...]
    extents: Shape

    def infer_shape(self, *operands: Shape) -> Shape:
        shape = operands[0]
        ranks = len(self.starts) == len(self.extents) == len(shape)
        if not ranks or any(
            start < 0 or extent < 0 or start + extent > whole
            for start, extent, whole in zip(self.starts, self.extents, shape, strict=True)
        ):
            raise ShapeError(
                f"narrow needs a box inside {shape}, got {self.extents} from {self.starts}"
            )
        return self.extents

    def compute(self, *operands: Array) -> Array:
        box = zip(self.starts, self.extents, strict=True)
        return operands[0][tuple(slice(start, start + extent) for start, extent in box)]

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        box = zip(self.starts, self.extents, operands[0].shape, strict=True)
        return (gradient.pad(self.starts, [whole - low - kept for low, kept, whole in box]),)


class Pad(Operation, name="pad", arity=1, introduces_nan=False, writes=True):
    """The value with `low` zeros before it and `high` zeros after it along each axis."""

    __slots__ = ("high", "low")
    low: tuple[int, ...]
    high: tuple[int, ...]

    def infer_shape(self, *operands: Shape) -> Shape:
        shape = operands[0]
        ranks = len(self.low) == len(self.high) == len(shape)
        if not ranks or min((*self.low, *self.high), default=0) < 0:
            raise ShapeError(
                f"pad needs zero or more zeros on each side of every axis of {shape},"
                f" got low {self.low} and high {self.high}"
            )
        return tuple(map(sum, zip(self.low, shape, self.high, strict=True)))

    def kernel(self, *operands: TensorType) -> Function:
        element = operands[0].element
        if element.native:
            return self.compute
        return partial(self.compute, zero=element.arithmetic.start(element.dtype))

    def compute(self, *operands: Array, out: Array | None = None, zero: npt.ArrayLike = 0) -> Array:
        array = operands[0]
        padded = np.empty(self.infer_shape(array.shape), array.dtype) if out is None else out
        padded[...] = zero
        box = zip(self.low, array.shape, strict=True)
        padded[tuple(slice(low, low + extent) for low, extent in box)] = array
        return padded

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.box(self.low, operands[0].shape),)


class Concatenate(Operation, name="concatenate", arity=None, introduces_nan=False, writes=True):
    """Values joined along an axis, in order; the other axes are equal."""

    __slots__ = ("axis",)
    axis: int

    def infer_shape(self, *operands: Shape) -> Shape:
        first, axis = operands[0], self.axis
        if any(
            len(operand) != len(first)
            or operand[:axis] != first[:axis]
            or operand[axis + 1 :] != first[axis + 1 :]
            for operand in operands
        ):
            raise ShapeError(
                f"concatenate needs equal shapes but for axis {axis},"
                f" got {' and '.join(map(str, operands))}"
            )
        return (*first[:axis], sum(operand[axis] for operand in operands), *first[axis + 1 :])

    def compute(self, *operands: Array, out: Array | None = None) -> Array:
        return np.concatenate(operands, self.axis, out=out)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        cotangents, start = [], 0
        for operand in operands:
            extent = operand.shape[self.axis]
            cotangents.append(gradient.narrow(self.axis, start, extent))
            start += extent
        return tuple(cotangents)


class Unfold(Operation, name="unfold", arity=1, is_view=True):
    """The windows of `size` every `step` along `axis`: the axis counts them, a new last axis
    holds their elements."""

    __slots__ = ("axis", "size", "step")
    axis: int
    size: int
    step: int

    def infer_shape(self, *operands: Shape) -> Shape:
        shape = operands[0]
        if not 1 <= self.size <= shape[self.axis] or self.step < 1:
            raise ShapeError(
                f"unfold needs a size of 1 to {shape[self.axis]} along axis {self.axis} of {shape}"
                f" and a step of 1 or more, got size {self.size} and step {self.step}"
            )
        count = (shape[self.axis] - self.size) // self.step + 1
        return (*shape[: self.axis], count, *shape[self.axis + 1 :], self.size)

    def compute(self, *operands: Array) -> Array:
        return kernels.window.unfold(operands[0], self.axis, self.size, self.step)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.fold(self.axis, self.step, operands[0].shape[self.axis]),)


class Fold(Operation, name="fold", arity=1, by="fold"):
    """The adjoint of `Unfold`: windows, whose elements are the last axis, added where they lay.

    Additions run in window order, onto +0.
    """

    __slots__ = ("axis", "extent", "step")
    axis: int
    step: int
    extent: int

    def infer_shape(self, *operands: Shape) -> Shape:
        shape = operands[0]
        if len(shape) < 2 or self.axis > len(shape) - 2 or self.step < 1:
            raise ShapeError(
                f"fold needs windows along axis {self.axis} beside a last axis and a step of 1"
                f" or more, got {shape} and step {self.step}"
            )
        count, size = shape[self.axis], shape[-1]
        if not 1 <= size <= self.extent or (self.extent - size) // self.step + 1 != count:
            raise ShapeError(
                f"fold cannot lay {count} windows of {size} every {self.step} into {self.extent}"
            )
        return (*shape[: self.axis], self.extent, *shape[self.axis + 1 : -1])

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axis=self.axis, step=self.step, extent=self.extent)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.unfold(self.axis, operands[0].shape[-1], self.step),)
