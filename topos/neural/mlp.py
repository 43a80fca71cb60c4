"""The multilayer perceptron: affine layers with an activation between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from topos import Tape, Value
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.activation import Activation
from topos.neural.init import Initializer, demand_initializer
from topos.neural.linear import Linear
from topos.neural.module import Module, Visitor, demand_module

__all__ = ["Mlp"]


class Mlp:
    """A multilayer perceptron, `[..., widths[0]]` to `[..., widths[-1]]`.

    There is a `Linear` between every two neighbours of `widths`, and `activation` between every
    two layers: none before the first and none after the last. Layer `i` draws its weights by
    `weights.split(i)`.
    """

    __slots__ = ("activation", "layers")

    def __init__(
        self,
        tape: Tape,
        widths: Sequence[int],
        *,
        weights: Initializer,
        bias: Initializer | None = init.zeros,
        activation: Module = Activation.TANH,
    ) -> None:
        if not isinstance(widths, Sequence) or len(widths) < 2:
            raise ShapeError(f"Mlp needs two widths or more, got {widths!r}")
        demand_module("Mlp between its layers", activation)
        demand_initializer("Mlp", weights)
        self.activation = activation
        self.layers: tuple[Linear, ...] = tuple(
            Linear(tape, inputs, outputs, weights=weights.split(position), bias=bias)
            for position, (inputs, outputs) in enumerate(pairwise(widths))
        )

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the layers and the activations between them."""
        first, *others = self.layers
        value = first.express(tape, value)
        for layer in others:
            value = layer.express(tape, self.activation.express(tape, value))
        return value

    def visit(self, visitor: Visitor) -> None:
        """Visits the layers as `layers.0`, `layers.1` and so on."""
        visitor.children("layers", self.layers)
