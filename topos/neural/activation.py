"""Activations: the nonlinearities between layers, as modules without parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from topos import Tape, Value, gelu, gelu_tanh, relu, silu
from topos.neural.formula import R, demand_reading
from topos.neural.module import Visitor

__all__ = ["Activation"]


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
