"""The matrix product and the transpose that its derivative speaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topos.errors import ShapeError
from topos.op.operation import Array, Cotangents, Domain, Operation, R, Reads
from topos.payload import Shape, kernels


class MatMul(Operation, name="matmul", arity=2, domain=Domain.NUMBERS):
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

    def compute(self, *operands: Array) -> Array:
        return kernels.product.matmul(*operands)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        left, right = operands
        return gradient @ right.transpose(), left.transpose() @ gradient


class Transpose(Operation, name="transpose", arity=1, domain=Domain.ANY, is_view=True):
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
