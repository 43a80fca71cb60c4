"""Layout: the same elements under another shape or axis order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Operation, R
from topos.payload import Shape, size


class Reshape(Operation, name="reshape", arity=1, is_view=True):
    """The elements in row-major order under another shape of the same size."""

    __slots__ = ("shape",)
    shape: Shape

    def infer_shape(self, *operands: Shape) -> Shape:
        if size(operands[0]) != size(self.shape):
            raise ShapeError(f"reshape cannot turn {operands[0]} into {self.shape}")
        return self.shape

    def compute(self, *operands: Array) -> Array:
        return operands[0].reshape(self.shape)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.reshape(operands[0].shape),)


class Permute(Operation, name="permute", arity=1, is_view=True):
    """The axes in another order: axis `i` of the result is axis `axes[i]` of the operand."""

    __slots__ = ("axes",)
    axes: tuple[int, ...]

    def infer_shape(self, *operands: Shape) -> Shape:
        if sorted(self.axes) != list(range(len(operands[0]))):
            raise ShapeError(
                f"permute needs every axis of {operands[0]} once, got axes {self.axes}"
            )
        return tuple(operands[0][axis] for axis in self.axes)

    def compute(self, *operands: Array) -> Array:
        return np.transpose(operands[0], self.axes)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        inverse = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        return (gradient.permute(inverse),)


class Transpose(Operation, name="transpose", arity=1, is_view=True):
    """The trailing two axes swapped; its own adjoint."""

    __slots__ = ()

    def infer_shape(self, *operands: Shape) -> Shape:
        if len(operands[0]) < 2:
            raise ShapeError(f"transpose needs two axes or more, got shape {operands[0]}")
        *batch, rows, columns = operands[0]
        return (*batch, columns, rows)

    def compute(self, *operands: Array) -> Array:
        return np.swapaxes(operands[0], -1, -2)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.transpose(),)
