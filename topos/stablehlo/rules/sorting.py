"""Rules of the operations that order elements: sort and top_k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import natural
from topos.stablehlo.dialect._numbers import whole
from topos.stablehlo.dialect._reducers import bodies
from topos.stablehlo.dialect._tensors import filled, holding
from topos.stablehlo.elements import PREDICATE
from topos.stablehlo.ir import FunctionType, Tensor, Unranked
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    bounds_of,
    demand_results,
    merged,
    of_bounds,
)

__all__ = ["RULES"]


def _sort(claim: OpView) -> None:
    if not claim.operands:
        claim.refuse("needs 1 or more operands, got 0")
    inputs = tuple([holding(claim, type, "an input") for type in claim.operands])
    (comparator,) = bodies(claim)
    known = merged(claim, inputs, "inputs")
    demand_results(claim, tuple([known._replace(element=taken.element) for taken in inputs]))
    rank = len(inputs[0].shape)
    axis = whole(claim, "dimension") if "dimension" in claim.operation.attributes else -1
    if not -rank <= axis < rank:
        claim.refuse(f"needs a dimension from {-rank} to below {rank}, got {axis}")
    claim.truth("is_stable", False)
    _demand_comparator(claim, comparator, inputs)


def _demand_comparator(claim: OpView, body: FunctionType, inputs: tuple[Tensor, ...]) -> None:
    scalars = [Tensor((), taken.element) for taken in inputs]
    needed = tuple([scalar for scalar in scalars for _ in range(2)])
    if len(body.operands) != len(needed):
        claim.refuse(f"needs a comparator of {len(needed)} arguments, got {len(body.operands)}")
    for got, scalar in zip(body.operands, needed, strict=True):
        if got != scalar:
            claim.refuse(f"needs a comparator that takes {scalar}, got {got}")
    if len(body.results) != 1:
        claim.refuse(f"needs a comparator that returns 1 value, got {len(body.results)}")
    verdict = holding(claim, body.results[0], "the comparator's result", PREDICATE)
    if verdict.shape:
        claim.refuse(f"needs a comparator that returns tensor<i1>, got {verdict}")


def _top_k(claim: OpView) -> None:
    if len(claim.operands) != 1:
        claim.refuse(f"needs 1 operand, got {len(claim.operands)}")
    operand = filled(claim, claim.operands[0], "operand")
    count = natural(claim, "k")
    claim.truth("is_stable", True)
    if isinstance(operand, Unranked):
        demand_results(claim, (operand, Unranked("i32")))
        return
    if not operand.shape:
        claim.refuse(f"needs an operand of rank 1 or more, got {operand}")
    if operand.shape[-1] is not None and operand.shape[-1] < count:
        claim.refuse(f"needs a last axis of {count} elements or more, got {operand}")
    shape, bounds = (*operand.shape[:-1], count), bounds_of(operand)
    demand_results(
        claim,
        (of_bounds(shape, operand.element, bounds), of_bounds(shape, "i32", bounds)),
    )


RULES: Final[Mapping[str, Rule]] = {"chlo.top_k": _top_k, "stablehlo.sort": _sort}
