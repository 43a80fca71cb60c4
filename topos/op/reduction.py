"""Sums, the matrix product among them, maxima, stable forms, and broadcasts, their adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Function, Operation, R, Reads
from topos.payload import Shape, TensorType, size, without


class Sum(Operation, name="sum", arity=1, by="sum"):
    """The sum of every element, a rank-0 value, by a fixed tree of halves."""

    __slots__ = ()

    def infer_shape(self, *operands: Shape) -> Shape:
        return ()

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axes=tuple(range(len(operands[0].shape))))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.broadcast(operands[0].shape),)


class Broadcast(Operation, name="broadcast", arity=1, is_view=True):
    """A rank-0 value spread over a shape."""

    __slots__ = ("shape",)
    shape: Shape

    def infer_shape(self, *operands: Shape) -> Shape:
        if operands[0] != ():
            raise ShapeError(f"broadcast needs a rank-0 value, got shape {operands[0]}")
        return self.shape

    def compute(self, *operands: Array) -> Array:
        return np.broadcast_to(operands[0], self.shape)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.sum(),)


class SumAlong(Operation, name="sum_along", arity=1, by="sum"):
    """The sum over some axes, which leave the shape; the axes flatten in ascending order."""

    __slots__ = ("axes",)
    axes: tuple[int, ...]

    def infer_shape(self, *operands: Shape) -> Shape:
        return without(operands[0], self.axes)

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axes=self.axes)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.broadcast_along(self.axes, _extents(operands[0].shape, self.axes)),)


class BroadcastAlong(Operation, name="broadcast_along", arity=1, is_view=True):
    """The value repeated along new axes, which stand at `axes` of the result."""

    __slots__ = ("axes", "extents")
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    def infer_shape(self, *operands: Shape) -> Shape:
        if len(self.axes) != len(self.extents) or list(self.axes) != sorted(set(self.axes)):
            raise ShapeError(
                "broadcast_along needs distinct axes with one extent each,"
                f" got axes {self.axes} and extents {self.extents}"
            )
        shape = list(operands[0])
        for axis, extent in zip(self.axes, self.extents, strict=True):
            shape.insert(axis, extent)
        return tuple(shape)

    def compute(self, *operands: Array) -> Array:
        array = np.expand_dims(operands[0], self.axes)
        return np.broadcast_to(array, self.infer_shape(operands[0].shape))

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.sum(self.axes),)


class MaxAlong(Operation, name="max_along", arity=1, by="max", introduces_nan=False):
    """The largest element over some axes; the gradient goes to the first that attains it."""

    __slots__ = ("axes",)
    _reads = Reads(operands=(0,), output=True)
    axes: tuple[int, ...]

    def infer_shape(self, *operands: Shape) -> Shape:
        if 0 in _extents(operands[0], self.axes):
            raise ShapeError(
                f"max_along needs extents of one or more, got {operands[0]} over axes {self.axes}"
            )
        return without(operands[0], self.axes)

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axes=self.axes)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        shape, axes = operands[0].shape, self.axes
        extents = _extents(shape, axes)
        attained = operands[0].equal(output.broadcast_along(axes, extents))
        # Negated positions: their maximum names the first element that attains the maximum.
        others = tuple(axis for axis in range(len(shape)) if axis not in axes)
        order = (-gradient.iota(extents)).broadcast_along(others, _extents(shape, others))
        candidate = attained.select(order, order.fill(-size(extents)))
        first = candidate.max(axes).broadcast_along(axes, extents)
        chosen = attained.minimum(candidate.equal(first))
        spread = gradient.broadcast_along(axes, extents)
        return (chosen.select(spread, spread.fill(0.0)),)


def _extents(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(shape[axis] for axis in axes)


class MatMul(Operation, name="matmul", arity=2, by="matmul"):
    """The product over the trailing two axes, `[..., m, k] @ [..., k, n]`, leading axes equal.

    Each element adds its products with `k` ascending, each product and each sum rounded.
    """

    __slots__ = ()
    _reads = Reads(operands=(0, 1))

    def infer_shape(self, *operands: Shape) -> Shape:
        match operands:
            case ((*batch, rows, inner), (*other, outer, columns)):
                if inner == outer and batch == other:
                    return (*batch, rows, columns)
        raise ShapeError(f"matmul cannot multiply {operands[0]} by {operands[1]}")

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        return gradient @ right.transpose(), left.transpose() @ gradient


class LogSoftmax(Operation, name="log_softmax", arity=1, by="log_softmax"):
    """`(x - m) - ln(sum(exp(x - m)))` along an axis, where `m` is the maximum, 0 if infinite."""

    __slots__ = ("axis",)
    _reads = Reads(output=True)
    axis: int

    def infer_shape(self, *operands: Shape) -> Shape:
        return _filled(self.name, operands[0], self.axis)

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axis=self.axis)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        total = gradient.sum((self.axis,))
        spread = total.broadcast_along((self.axis,), (output.shape[self.axis],))
        return (gradient - output.exp() * spread,)


class LogSumExp(Operation, name="log_sum_exp", arity=1, by="log_sum_exp"):
    """`m + ln(sum(exp(x - m)))` over an axis, where `m` is the maximum, 0 if infinite."""

    __slots__ = ("axis",)
    _reads = Reads(operands=(0,), output=True)
    axis: int

    def infer_shape(self, *operands: Shape) -> Shape:
        return without(_filled(self.name, operands[0], self.axis), (self.axis,))

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axis=self.axis)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        axes, extents = (self.axis,), (operands[0].shape[self.axis],)
        share = (operands[0] - output.broadcast_along(axes, extents)).exp()
        return (gradient.broadcast_along(axes, extents) * share,)


def _filled(name: str, shape: Shape, axis: int) -> Shape:
    if shape[axis] == 0:
        raise ShapeError(f"{name} needs an extent of one or more, got {shape} over axis {axis}")
    return shape
