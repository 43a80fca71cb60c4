"""Stochastic gradient descent, plain, with momentum and with Nesterov's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from topos import Recordable, Symbol
from topos.errors import ArgumentError
from topos.neural.formula import is_number
from topos.neural.optimizer import Optimizer
from topos.neural.schedule import LearningRate, demand_rate, rate

__all__ = ["Sgd"]

R = TypeVar("R", bound=Recordable)


@dataclass(frozen=True)
class Sgd(Optimizer):
    """Gradient descent: `velocity = gradient + momentum * velocity`, `w -= rate * velocity`.

    Without momentum it keeps nothing and the gradient is the velocity. With `nesterov` the step is
    by `gradient + momentum * velocity`, after the velocity (Sutskever et al., 2013, section 2).
    """

    learning_rate: LearningRate
    momentum: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        demand_rate("Sgd", self.learning_rate)
        if not is_number(self.momentum, 0.0, 1.0):
            raise ArgumentError(f"Sgd needs a momentum from 0 to below 1, got {self.momentum!r}")
        if not isinstance(self.nesterov, bool):
            raise ArgumentError(f"Sgd needs nesterov=True or False, got {self.nesterov!r}")
        if self.nesterov and not self.momentum:
            raise ArgumentError("Sgd needs a momentum for Nesterov's, got 0")

    @property
    def slots(self) -> tuple[str, ...]:
        """The velocity, where there is momentum."""
        return ("velocity",) if self.momentum else ()

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate."""
        return (rate(self.learning_rate, count),)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter and of its velocity."""
        (learning_rate,) = scalars
        if not self.momentum:
            return parameter - learning_rate * gradient, ()
        velocity = gradient + self.momentum * kept[0]
        direction = gradient + self.momentum * velocity if self.nesterov else velocity
        return parameter - learning_rate * direction, (velocity,)
