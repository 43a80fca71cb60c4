"""Tensors of a class of elements, as most rules take their operands."""

from __future__ import annotations

from collections.abc import Sequence

from topos.stablehlo.elements import ANY
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import TensorType, ranked, tensor

__all__ = ["demand_one_element", "filled", "holding"]


def filled(claim: OpView, type: Type, what: str, elements: frozenset[str] = ANY) -> TensorType:
    """Returns `type` where it is a tensor of such elements, ranked or not."""
    taken = tensor(claim, type, what)
    if taken.element not in elements:
        claim.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def holding(claim: OpView, type: Type, what: str, elements: frozenset[str] = ANY) -> Tensor:
    """Returns `type` where it is a ranked tensor of such elements."""
    taken = ranked(claim, type, what)
    if taken.element not in elements:
        claim.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def demand_one_element(claim: OpView, taken: Sequence[TensorType]) -> None:
    """Refuses tensors of several elements."""
    if len({type.element for type in taken}) > 1:
        claim.refuse(f"needs operands of one element, got {', '.join(map(str, taken))}")
