"""The rule of chlo.scan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import natural
from topos.stablehlo.dialect._reducers import bodies
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import agree, demand_results, extents_agree

__all__ = ["RULES"]


def _scan(claim: OpView) -> None:
    inputs, outputs = _segments(claim)
    (body,) = bodies(claim)
    at = natural(claim, "dimension")
    claim.truth("is_reverse", False)
    claim.truth("is_associative", False)
    tensors = [holding(claim, type, "operand") for type in claim.operands]
    if not inputs and not outputs:
        claim.refuse("needs an input or an output, got neither")
    length = _length(claim, tensors[:inputs], at)
    needed = [*[_slice(type, at) for type in tensors[:inputs]], *tensors[inputs:]]
    if len(body.operands) != len(needed):
        claim.refuse(f"needs a body of {len(needed)} arguments, got {len(body.operands)}")
    for got, type in zip(body.operands, needed, strict=True):
        if not agree(got, type):
            claim.refuse(f"needs a body that takes {type}, got {got}")
    returned = [holding(claim, type, "body's result") for type in body.results]
    if len(returned) != outputs + len(tensors) - inputs:
        count = outputs + len(tensors) - inputs
        claim.refuse(f"needs a body that returns {count} values, got {len(returned)}")
    made = [_stacked(claim, type, at, length) for type in returned[:outputs]]
    demand_results(claim, (*made, *returned[outputs:]))


def _segments(claim: OpView) -> tuple[int, int]:
    """Returns how many operands are inputs and how many results outputs; carries are the rest."""
    inputs, initials = _pair(claim, "operandSegmentSizes", len(claim.operands))
    outputs, carries = _pair(claim, "resultSegmentSizes", len(claim.results))
    if initials != carries:
        claim.refuse(f"needs as many carries as initial values, {initials}, got {carries}")
    return inputs, outputs


def _pair(claim: OpView, key: str, count: int) -> tuple[int, int]:
    parts = claim.integers(key)
    if len(parts) != 2 or min(parts) < 0 or sum(parts) != count:
        claim.refuse(f"needs two parts of {count} as {key}, got {list(parts)}")
    return parts[0], parts[1]


def _length(claim: OpView, inputs: list[Tensor], at: int) -> int | None:
    """Returns the number of steps, which every input that knows it has in common."""
    stated = "scan_dim_size" in claim.operation.attributes
    length = natural(claim, "scan_dim_size") if stated else None
    for type in inputs:
        if at >= len(type.shape):
            claim.refuse(f"needs inputs with an axis {at}, got {type}")
        if not extents_agree(length, type.shape[at]):
            claim.refuse(f"needs inputs of {length} in axis {at}, got {type}")
        length = type.shape[at] if length is None else length
    return length


def _slice(type: Tensor, at: int) -> Tensor:
    return Tensor((*type.shape[:at], *type.shape[at + 1 :]), type.element)


def _stacked(claim: OpView, type: Tensor, at: int, length: int | None) -> Tensor:
    if at > len(type.shape):
        claim.refuse(f"needs outputs that can have an axis {at}, got {type}")
    return Tensor((*type.shape[:at], length, *type.shape[at:]), type.element)


RULES: Final[Mapping[str, Rule]] = {"chlo.scan": _scan}
