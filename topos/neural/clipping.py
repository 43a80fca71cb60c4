"""Clipping: gradients scaled down together where their common norm is too large."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from topos import Symbol
from topos.errors import ArgumentError
from topos.neural.formula import R, given, in_element, positive, repeated, widest
from topos.neural.optimizer import Optimizer, demand_optimizer

K = TypeVar("K")


def global_norm(values: Collection[R]) -> R:
    """Returns the square root of the sum of the squares of all elements of `values`, of rank 0.

    The squares of each value are summed first, then the sums, in order; f64 where any value is.
    """
    if not values:
        raise ArgumentError("a global norm needs one value or more, got none")
    shared = widest(values)
    first, *others = (in_element((value * value).sum(), shared) for value in values)
    total = first
    for other in others:
        total = total + other
    return total.sqrt()


def clip_by_global_norm(gradients: Mapping[K, R], limit: float) -> dict[K, R]:
    """Returns `gradients`, multiplied by `limit / norm` where their global norm is not below it.

    Below it every one keeps its bits (Pascanu et al., 2013, algorithm 1); a NaN is in all of them.
    """
    if not isinstance(gradients, Mapping):
        raise ArgumentError(
            f"clip_by_global_norm needs a mapping such as dict(gradients.items()), got"
            f" {given(gradients)}"
        )
    norm = global_norm(list(gradients.values()))
    factor = norm.less(limit).select(1.0, limit / norm)
    return {key: own * repeated(factor, own) for key, own in gradients.items()}


@dataclass(frozen=True)
class Clipped(Optimizer):
    """Another optimizer, fed with gradients clipped to a global norm of `limit`."""

    optimizer: Optimizer
    limit: float

    def __post_init__(self) -> None:
        demand_optimizer("Clipped", self.optimizer)
        positive("Clipped", "a limit", self.limit)

    @property
    def slots(self) -> tuple[str, ...]:
        """What the other optimizer keeps."""
        return self.optimizer.slots

    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns what the other optimizer computes once."""
        return self.optimizer.scalars(count)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the other optimizer's update."""
        return self.optimizer.update(symbol, parameter, gradient, kept, scalars)

    def revised(self, gradients: Mapping[Symbol, R]) -> Mapping[Symbol, R]:
        """Returns the gradients clipped, then revised by the other optimizer."""
        return self.optimizer.revised(clip_by_global_norm(gradients, self.limit))
