"""Layers: the affine layer and chains of it, activations between, embedding and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Any, Final

from topos import Element, Symbol, Tape, Tensor, Value, gelu, gelu_tanh, relu, silu
from topos.errors import ArgumentError, ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, demand_reading, spread
from topos.neural.init import Initializer, demand_initializer
from topos.neural.module import Layer, Module, Visitor, demand_module


class Activation(Enum):
    """An elementwise nonlinearity; a member is a function of any reading and a module.

    `GELU` is `x * Phi(x)` by the error function, `GELU_TANH` its approximation (Hendrycks &
    Gimpel, 2016), `SILU` is `x * logistic(x)` (Elfwing et al., 2018). The slope of `RELU` at zero
    is one.
    """

    TANH = "tanh"
    RELU = "relu"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SILU = "silu"
    SIGMOID = "sigmoid"

    def __call__(self, value: R) -> R:
        """Returns the nonlinearity of every element."""
        demand_reading(f"Activation.{self.name}", value)
        result: R = FORMULAS[self](value)
        return result

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the nonlinearity of `value`."""
        return self(value)

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: an activation has no parameters."""


def _tanh(value: R) -> R:
    return value.tanh()


def _sigmoid(value: R) -> R:
    return value.logistic()


# A table of generic functions has no type of its own; the call above names it.
FORMULAS: Final[Mapping[Activation, Callable[[Any], Any]]] = {
    Activation.TANH: _tanh,
    Activation.RELU: relu,
    Activation.GELU: gelu,
    Activation.GELU_TANH: gelu_tanh,
    Activation.SILU: silu,
    Activation.SIGMOID: _sigmoid,
}


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


class Linear(Layer):
    """An affine layer, `[..., inputs]` to `[..., outputs]`: `value @ weights + bias`.

    Records `weights` `[inputs, outputs]` and `bias` `[outputs]` in the tape's element; without
    `bias` there is none. An activation is a stage of its own.
    """

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
        self.bias = None if bias is None else init.recorded(tape, "Linear", bias, shape[1:])

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the layer on `value`; the formula is `affine`."""
        bias = None if self.bias is None else tape.value(self.bias)
        return affine(value, tape.value(self.weights), bias)


class Mlp:
    """A multilayer perceptron, `[..., widths[0]]` to `[..., widths[-1]]`.

    There is a `Linear` between every two neighbours of `widths`, and `activation` between every
    two layers: none before the first and none after the last. Layer `i` draws its weights by
    `weights.split(i)`.
    """

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


class Sequential:
    """A chain of modules: the value that one returns is what the next is applied to.

    Every stage takes one value and returns one. A stage that returns more, as `BatchNorm` does in
    training, raises `ArgumentError`: its statistics would be lost, so it belongs in a module of
    one's own.
    """

    def __init__(self, *stages: Module) -> None:
        for position, stage in enumerate(stages):
            demand_module(f"Sequential at {position}", stage)
        if not stages:
            raise ArgumentError("Sequential needs one module or more, got none")
        self.stages: tuple[Module, ...] = stages

    def express(self, tape: Tape, value: Value) -> Value:
        """Records every stage in order."""
        for position, stage in enumerate(self.stages):
            value = stage.express(tape, value)
            if not isinstance(value, Value):
                title = f"{type(stage).__name__} at {position} returned {type(value).__name__}"
                raise ArgumentError(f"Sequential needs stages that return one value, {title}")
        return value

    def visit(self, visitor: Visitor) -> None:
        """Visits every stage by its position."""
        for position, stage in enumerate(self.stages):
            visitor.child(position, stage)


class Embedding(Layer):
    """A table `[entries, features]`; integers `[...]` choose rows, `[..., features]`.

    An integer outside is clamped to the nearest entry, as `gather` does. The transposed table is
    the weights of a tied output layer: `hidden @ tape.value(embedding.table).transpose()`.
    """

    def __init__(self, tape: Tape, entries: int, features: int, *, table: Initializer) -> None:
        shape = count("Embedding", "entries", entries), count("Embedding", "features", features)
        self.table: Symbol = init.recorded(tape, "Embedding", table, shape)

    def express(self, tape: Tape, indices: Value) -> Value:
        """Records the rows that `indices` choose."""
        return tape.value(self.table).gather(indices, 0)


class Dropout:
    """A product with an input of `shape` that is all ones unless fed (Srivastava et al., 2014).

    Randomness never enters a recording: a training step feeds `{dropout.mask: dropout.draw(seed)}`
    with a seed of its own, and a run that feeds nothing is inference.
    """

    def __init__(
        self, tape: Tape, shape: Sequence[int], rate: float = 0.5, *, name: str | None = None
    ) -> None:
        # Drawing once asks for the rate and the shape at the line that gives them.
        drawn = init.dropout(0, rate)(shape, tape.element)
        self.rate = float(rate)
        self.shape: tuple[int, ...] = drawn.shape
        self.element: Element = tape.element
        self.mask: Symbol = tape.input(init.ones(shape, tape.element), name=name).symbol

    def draw(self, seed: int) -> Tensor:
        """Returns a mask to feed: zero with the probability of the rate, else `1 / (1 - rate)`."""
        return init.dropout(seed, self.rate)(self.shape, self.element)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records `value` times the mask; `value` has the shape of the mask."""
        demand_reading("Dropout", value)
        if value.shape != self.shape:
            raise ShapeError(f"Dropout needs its own shape {self.shape}, got {value.shape}")
        return value * tape.value(self.mask)

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: a mask is an input."""
