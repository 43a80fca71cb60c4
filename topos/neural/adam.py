"""Adam and AdamW: descent by bias-corrected estimates of the gradient's first two moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from topos import Recordable, Symbol
from topos.errors import ArgumentError
from topos.neural.decay import Policy, demand_decays, every_parameter
from topos.neural.formula import is_number
from topos.neural.optimizer import Optimizer
from topos.neural.schedule import LearningRate, demand_rate, rate

__all__ = ["Adam", "AdamW"]

R = TypeVar("R", bound=Recordable)

MOMENTS: Final = ("first_moment", "second_moment")


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015, algorithm 1); `betas` are the decays of the two moments."""

    learning_rate: LearningRate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _demand_settings(self)

    @property
    def slots(self) -> tuple[str, ...]:
        """The two moments."""
        return MOMENTS

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate and the two bias corrections."""
        return _scalars(self, count)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter and of its moments."""
        direction, moments = _direction(self, gradient, kept, scalars[1:])
        return parameter - scalars[0] * direction, moments


@dataclass(frozen=True)
class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2).

    `rate * weight_decay * parameter` is subtracted besides, from the parameters that `policy`
    selects.
    """

    learning_rate: LearningRate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 1e-2
    policy: Policy = every_parameter

    def __post_init__(self) -> None:
        _demand_settings(self, self.weight_decay, self.policy)

    @property
    def slots(self) -> tuple[str, ...]:
        """The two moments."""
        return MOMENTS

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate and the two bias corrections."""
        return _scalars(self, count)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter and of its moments."""
        direction, moments = _direction(self, gradient, kept, scalars[1:])
        if self.policy(symbol, parameter.type):
            direction = direction + self.weight_decay * parameter
        return parameter - scalars[0] * direction, moments


def _scalars(rule: Adam | AdamW, count: R) -> tuple[R, ...]:
    taken = count + 1.0
    first, second = (1.0 - beta**taken for beta in rule.betas)
    return rate(rule.learning_rate, count), first, second


def _direction(
    rule: Adam | AdamW, gradient: R, kept: Sequence[R], corrections: Sequence[R]
) -> tuple[R, tuple[R, ...]]:
    """Returns the direction that a parameter moves against, and the moments after the step."""
    beta1, beta2 = rule.betas
    first = (1.0 - beta1) * gradient + beta1 * kept[0]
    second = (1.0 - beta2) * (gradient * gradient) + beta2 * kept[1]
    deviation = (second / corrections[1]).sqrt() + rule.epsilon
    return (first / corrections[0]) / deviation, (first, second)


def _demand_settings(
    rule: Adam | AdamW, weight_decay: float = 0.0, policy: Policy = every_parameter
) -> None:
    optimizer = type(rule).__name__
    demand_rate(optimizer, rule.learning_rate)
    demand_decays(optimizer, rule.betas, weight_decay, policy)
    if not is_number(rule.epsilon, 0.0):
        raise ArgumentError(
            f"{optimizer} needs a finite epsilon of zero or more, got {rule.epsilon!r}"
        )
