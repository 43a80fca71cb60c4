"""Lion: descent by the sign of an interpolated momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from topos import Recordable, Symbol
from topos.neural.decay import Policy, demand_decays, every_parameter
from topos.neural.optimizer import Optimizer
from topos.neural.schedule import LearningRate, demand_rate, rate

__all__ = ["Lion"]

R = TypeVar("R", bound=Recordable)


@dataclass(frozen=True)
class Lion(Optimizer):
    """Lion (Chen et al., 2023, algorithm 2): each weight moves by the rate, up or down.

    The first of `betas` mixes the direction, the second the momentum that is kept. Weight decay is
    decoupled, for the parameters that `policy` selects.
    """

    learning_rate: LearningRate = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    policy: Policy = every_parameter

    def __post_init__(self) -> None:
        demand_rate("Lion", self.learning_rate)
        demand_decays("Lion", self.betas, self.weight_decay, self.policy)

    @property
    def slots(self) -> tuple[str, ...]:
        """The momentum."""
        return ("momentum",)

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate."""
        return (rate(self.learning_rate, count),)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter and of its momentum."""
        beta1, beta2 = self.betas
        direction = sign((1.0 - beta1) * gradient + beta1 * kept[0])
        if self.weight_decay and self.policy(symbol, parameter.type):
            direction = direction + self.weight_decay * parameter
        momentum = (1.0 - beta2) * gradient + beta2 * kept[0]
        return parameter - scalars[0] * direction, (momentum,)


def sign(value: R) -> R:
    """Returns 1 above zero, -1 below it, and zeros and NaN as they are."""
    return value.greater(0.0).select(1.0, value.less(0.0).select(-1.0, value))
