"""Decay: which parameters weights decay in, and what decays an optimizer may be given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topos import Symbol, TensorType
from topos.errors import ArgumentError
from topos.neural.formula import is_number

__all__ = ["Policy", "demand_decays", "every_parameter", "matrices"]

Policy = Callable[[Symbol, TensorType], bool]
"""Whether weight decay applies to a parameter, by its symbol and its type of wide element."""


def every_parameter(_symbol: Symbol, _type: TensorType) -> bool:
    """Selects every parameter."""
    return True


def matrices(_symbol: Symbol, type: TensorType) -> bool:
    """Selects the parameters of rank 2 or more: weights, and neither biases nor scales."""
    return len(type.shape) > 1


def demand_decays(
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
