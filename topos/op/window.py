"""Sliding windows along an axis, and their adjoint."""

from __future__ import annotations

from collections.abc import Sequence

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Domain, Operation, R
from topos.payload import Shape, kernels


class Unfold(Operation, name="unfold", arity=1, domain=Domain.ANY, is_view=True):
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


class Fold(Operation, name="fold", arity=1, domain=Domain.NUMBERS):
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

    def compute(self, *operands: Array) -> Array:
        return kernels.window.fold(operands[0], self.axis, self.step, self.extent)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return (gradient.unfold(self.axis, operands[0].shape[-1], self.step),)
