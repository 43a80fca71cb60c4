"""The optimizers: gradient descent, Lion, Adam and AdamW, and what they may be given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topos import Symbol, TensorType
from topos.errors import ArgumentError
from topos.neural.formula import R, is_number
from topos.neural.optimizer import Optimizer
from topos.neural.schedule import LearningRate, demand_rate, rate

Policy = Callable[[Symbol, TensorType], bool]
"""Whether weight decay applies to a parameter, by its symbol and its type of wide element."""


def every_parameter(_symbol: Symbol, _type: TensorType) -> bool:
    """Selects every parameter."""
    return True


def matrices(_symbol: Symbol, type: TensorType) -> bool:
    """Selects the parameters of rank 2 or more: weights, and neither biases nor scales."""
    return len(type.shape) > 1


class _Paced(Optimizer):
    """An optimizer whose steps take one learning rate."""

    learning_rate: LearningRate

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate."""
        return (rate(self.learning_rate, count),)


@dataclass(frozen=True)
class Sgd(_Paced):
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


@dataclass(frozen=True)
class Lion(_Paced):
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
        _demand_decays("Lion", self.betas, self.weight_decay, self.policy)

    @property
    def slots(self) -> tuple[str, ...]:
        """The momentum."""
        return ("momentum",)

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


@dataclass(frozen=True)
class Adam(_Paced):
    """Adam (Kingma and Ba, 2015, algorithm 1); `betas` are the decays of the two moments."""

    learning_rate: LearningRate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        name = type(self).__name__
        demand_rate(name, self.learning_rate)
        _demand_decays(name, self.betas)
        if not is_number(self.epsilon, 0.0):
            raise ArgumentError(
                f"{name} needs a finite epsilon of zero or more, got {self.epsilon!r}"
            )

    @property
    def slots(self) -> tuple[str, ...]:
        """The two moments."""
        return "first_moment", "second_moment"

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the learning rate and the two bias corrections."""
        taken = count + 1.0
        return *super().scalars(count), *(1.0 - beta**taken for beta in self.betas)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter and of its moments."""
        beta1, beta2 = self.betas
        first = (1.0 - beta1) * gradient + beta1 * kept[0]
        second = (1.0 - beta2) * (gradient * gradient) + beta2 * kept[1]
        deviation = (second / scalars[2]).sqrt() + self.epsilon
        direction = self.decayed((first / scalars[1]) / deviation, symbol, parameter)
        return parameter - scalars[0] * direction, (first, second)

    def decayed(self, direction: R, symbol: Symbol, parameter: R) -> R:
        """Returns the direction that a parameter moves against, with the decay of weights."""
        return direction


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2).

    `rate * weight_decay * parameter` is subtracted besides, from the parameters that `policy`
    selects.
    """

    weight_decay: float = 1e-2
    policy: Policy = every_parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        _demand_decays("AdamW", self.betas, self.weight_decay, self.policy)

    def decayed(self, direction: R, symbol: Symbol, parameter: R) -> R:
        """Returns the direction that a parameter moves against, with the decay of weights."""
        if not self.policy(symbol, parameter.type):
            return direction
        return direction + self.weight_decay * parameter


def _demand_decays(
    optimizer: str,
    betas: Sequence[float],
    weight_decay: float = 0.0,
    policy: Policy = every_parameter,
) -> None:
    """Raises `ArgumentError` where moving averages or weights would not decay."""
    two = isinstance(betas, Sequence) and len(betas) == 2
    if not two or not all(is_number(beta, 0.0, 1.0) for beta in betas):
        raise ArgumentError(
            f"{optimizer} needs two betas from 0 to below 1, as (0.9, 0.999), got {betas!r}"
        )
    if not is_number(weight_decay, 0.0):
        raise ArgumentError(
            f"{optimizer} needs a finite weight decay of zero or more, got {weight_decay!r}"
        )
    if not callable(policy):
        raise ArgumentError(
            f"{optimizer} needs a policy such as topos.matrices, got {type(policy).__name__}"
        )
