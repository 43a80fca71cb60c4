"""Decay: which parameters weights decay in, and what decays an optimizer may be given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from topos import Symbol, TensorType
from topos.errors import ArgumentError

__all__ = ["Policy", "demand_decays", "every_parameter", "matrices"]

Policy = Callable[[Symbol, TensorType], bool]
"""Whether weight decay applies to a parameter, by its symbol and its type of wide element."""


def every_parameter(_symbol: Symbol, _type: TensorType) -> bool:
    """Selects every parameter."""
    return True


def matrices(_symbol: Symbol, type: TensorType) -> bool:
    """Selects the parameters of rank 2 or more: weights, and neither biases nor scales."""
    return len(type.shape) > 1


def demand_decays(optimizer: str, betas: Sequence[float], weight_decay: float = 0.0) -> None:
    """Raises `ArgumentError` where moving averages or weights would not decay."""
    if len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
        raise ArgumentError(f"{optimizer} needs two betas from 0 to below 1, got {betas}")
    if not 0.0 <= weight_decay < math.inf:
        raise ArgumentError(
            f"{optimizer} needs a finite weight decay of zero or more, got {weight_decay}"
        )
