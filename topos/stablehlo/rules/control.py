"""Rules of control flow: calls, branches, loops and the barrier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.ir import (
    FunctionType,
    Symbol,
    Tensor,
    TupleType,
    Type,
    Unranked,
)
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import agree, demand_results, ranked, scalar
from topos.stablehlo.types import TOKEN

__all__ = ["RULES", "demand_signature", "shown"]


def shown(types: tuple[Type, ...]) -> str:
    """Returns a list of types as the text would spell it."""
    return f"({', '.join(map(str, types))})"


def demand_signature(claim: OpView, key: str) -> None:
    """Refuses unless the attribute `key` names a function of the claim's types."""
    name = claim.attribute(key)
    function = claim.functions.get(name) if isinstance(name, Symbol) else None
    if function is None:
        claim.refuse(f"needs a function, got @{name}")
    arguments = tuple([argument.type for argument in function.arguments])
    results = tuple([result.type for result in function.results])
    if arguments != claim.operands or results != claim.results:
        needs, got = FunctionType(arguments, results), FunctionType(claim.operands, claim.results)
        claim.refuse(f"needs the types of @{name}, {needs}, got {got}")


def _call(claim: OpView) -> None:
    demand_signature(claim, "callee")


def _regions(claim: OpView, count: int) -> None:
    got = sum(len(region.blocks) == 1 for region in claim.operation.regions)
    if got != count or len(claim.bodies) != count:
        claim.refuse(f"needs {count} regions, got {got}")


def _if(claim: OpView) -> None:
    _regions(claim, 2)
    _branches(claim, "i1")


def _case(claim: OpView) -> None:
    _regions(claim, max(len(claim.bodies), 1))
    _branches(claim, "i32")


def _branches(claim: OpView, element: str) -> None:
    if len(claim.operands) != 1:
        claim.refuse(f"needs 1 operand, got {len(claim.operands)}")
    choice = scalar(claim, claim.operands[0], "operand")
    if choice.element != element:
        claim.refuse(f"needs a scalar {element}, got {choice}")
    first = claim.bodies[0].results
    for body in claim.bodies:
        if body.operands:
            claim.refuse(f"needs branches without arguments, got {shown(body.operands)}")
        if not _all_agree(first, body.results):
            got = f"{shown(first)} and {shown(body.results)}"
            claim.refuse(f"needs branches that return the same types, got {got}")
        demand_results(claim, body.results)


def _while(claim: OpView) -> None:
    _regions(claim, 2)
    condition, body = claim.bodies
    carried = claim.operands
    for type in carried:
        if isinstance(type, (TupleType, Unranked)):
            claim.refuse(f"carries ranked tensors and tokens, got {type}")
    if not _all_agree(condition.operands, carried):
        got = shown(condition.operands)
        claim.refuse(f"needs a condition that takes {shown(carried)}, got {got}")
    if not (_all_agree(body.operands, carried) and _all_agree(body.results, carried)):
        claim.refuse(f"needs a body from {shown(carried)} to the same, got {body}")
    if condition.results != (Tensor((), "i1"),):
        claim.refuse(f"needs a condition that returns tensor<i1>, got {shown(condition.results)}")
    demand_results(claim, carried)


def _all_agree(ones: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
    return len(ones) == len(others) and all(map(agree, ones, others))


def _barrier(claim: OpView) -> None:
    for type in claim.operands:
        if type != TOKEN:
            demand_element(claim, ranked(claim, type, "operand"), ANY)
    if claim.results != claim.operands:
        claim.refuse(f"results in {shown(claim.operands)}, got {shown(claim.results)}")


RULES: Final[Mapping[str, Rule]] = {
    "func.call": _call,
    "stablehlo.case": _case,
    "stablehlo.if": _if,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.while": _while,
}
