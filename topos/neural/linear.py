"""The affine layer: a product with weights, and a bias."""

from __future__ import annotations

import math

from topos import Symbol, Tape, Value
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, spread
from topos.neural.init import Initializer
from topos.neural.module import Visitor

__all__ = ["Linear", "affine"]


def affine(value: R, weights: R, bias: R | None = None) -> R:
    """Returns `value @ weights + bias` over the last axis.

    `[..., inputs]` by `[inputs, outputs]` is `[..., outputs]`; the bias is `[outputs]`. The
    leading axes are flattened for the product, so every row has the bits of a row alone.
    """
    if len(weights.shape) != 2:
        raise ShapeError(f"affine needs weights [inputs, outputs], got {weights.shape}")
    inputs, outputs = weights.shape
    demand_features("affine", value, inputs)
    leading = value.shape[:-1]
    rows = value if len(leading) == 1 else value.reshape((math.prod(leading), inputs))
    product = rows @ weights
    if bias is not None:
        demand_features("affine", bias, outputs)
        product = product + spread(bias, product.shape, -1)
    return product if len(leading) == 1 else product.reshape((*leading, outputs))


class Linear:
    """An affine layer, `[..., inputs]` to `[..., outputs]`: `value @ weights + bias`.

    Records `weights` `[inputs, outputs]` and `bias` `[outputs]` in the tape's element; without
    `bias` there is none. An activation is a stage of its own.
    """

    __slots__ = ("bias", "weights")

    def __init__(
        self,
        tape: Tape,
        inputs: int,
        outputs: int,
        *,
        weights: Initializer,
        bias: Initializer | None = init.zeros,
    ) -> None:
        shape = count("Linear", "inputs", inputs), count("Linear", "outputs", outputs)
        self.weights: Symbol = init.recorded(tape, "Linear", weights, shape)
        self.bias: Symbol | None = None
        if bias is not None:
            self.bias = init.recorded(tape, "Linear", bias, shape[1:])

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the layer on `value`; the formula is `affine`."""
        bias = None if self.bias is None else tape.value(self.bias)
        return affine(value, tape.value(self.weights), bias)

    def visit(self, visitor: Visitor) -> None:
        """Shows `weights`, then `bias`."""
        visitor.parameter("weights", self.weights)
        if self.bias is not None:
            visitor.parameter("bias", self.bias)
