"""Stable forms: the logarithm of a sum of exponentials, shifted by the maximum."""

from __future__ import annotations

from collections.abc import Sequence

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Domain, Operation, R, Reads
from topos.payload import Shape, kernels, without


class LogSoftmax(Operation, name="log_softmax", arity=1, domain=Domain.BUILT_IN):
    """`(x - m) - ln(sum(exp(x - m)))` along an axis, where `m` is the maximum, 0 if infinite."""

    __slots__ = ("axis",)
    _reads = Reads(output=True)
    axis: int

    def infer_shape(self, *operands: Shape) -> Shape:
        return _filled(self.name, operands[0], self.axis)

    def compute(self, *operands: Array) -> Array:
        return kernels.stable.log_softmax(operands[0], self.axis)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        total = gradient.sum((self.axis,))
        spread = total.broadcast_along((self.axis,), (output.shape[self.axis],))
        return (gradient - output.exp() * spread,)


class LogSumExp(Operation, name="log_sum_exp", arity=1, domain=Domain.BUILT_IN):
    """`m + ln(sum(exp(x - m)))` over an axis, where `m` is the maximum, 0 if infinite."""

    __slots__ = ("axis",)
    _reads = Reads(operands=(0,), output=True)
    axis: int

    def infer_shape(self, *operands: Shape) -> Shape:
        return without(_filled(self.name, operands[0], self.axis), (self.axis,))

    def compute(self, *operands: Array) -> Array:
        return kernels.stable.log_sum_exp(operands[0], self.axis)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        axes, extents = (self.axis,), (operands[0].shape[self.axis],)
        share = (operands[0] - output.broadcast_along(axes, extents)).exp()
        return (gradient.broadcast_along(axes, extents) * share,)


def _filled(name: str, shape: Shape, axis: int) -> Shape:
    if shape[axis] == 0:
        raise ShapeError(f"{name} needs an extent of one or more, got {shape} over axis {axis}")
    return shape
