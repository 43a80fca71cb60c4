"""Tensors of a class of elements, as most rules take their operands."""

from __future__ import annotations

from topos.runtimes._stablehlo.claim import Claim
from topos.runtimes._stablehlo.rules._elements import ANY
from topos.runtimes._stablehlo.rules._shapes import TensorType, ranked, tensor
from topos.runtimes._stablehlo.syntax import Tensor, Type

__all__ = ["filled", "holding"]


def filled(claim: Claim, type: Type, what: str, elements: frozenset[str] = ANY) -> TensorType:
    """Returns `type` where it is a tensor of such elements, ranked or not."""
    taken = tensor(claim, type, what)
    if taken.element not in elements:
        claim.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def holding(claim: Claim, type: Type, what: str, elements: frozenset[str] = ANY) -> Tensor:
    """Returns `type` where it is a ranked tensor of such elements."""
    taken = ranked(claim, type, what)
    if taken.element not in elements:
        claim.refuse(f"takes no elements of {taken.element} as {what}")
    return taken
