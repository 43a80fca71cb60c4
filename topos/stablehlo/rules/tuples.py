"""Rules of tuples and of tokens, which carry an order and no data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import natural
from topos.stablehlo.ir import TupleType
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result
from topos.stablehlo.types import TOKEN

__all__ = ["RULES"]


def _tuple(claim: OpView) -> None:
    claim.takes(len(claim.operands))
    # A tuple's parts are exactly its operands; nothing is forgotten about them.
    inferred = TupleType(claim.operands)
    if claim.results[0] != inferred:
        claim.refuse(f"results in {inferred}, got {claim.results[0]}")


def _get_tuple_element(claim: OpView) -> None:
    claim.takes(1)
    operand = claim.operands[0]
    if not isinstance(operand, TupleType):
        claim.refuse(f"needs a tuple, got {operand}")
    index = natural(claim, "index", "i32")
    if index >= len(operand.parts):
        claim.refuse(f"needs an index below {len(operand.parts)}, got {index}")
    demand_result(claim, operand.parts[index])


def _token(claim: OpView) -> None:
    claim.takes(0)
    demand_result(claim, TOKEN)


def _after_all(claim: OpView) -> None:
    claim.takes(len(claim.operands))
    for type in claim.operands:
        if type != TOKEN:
            claim.refuse(f"needs tokens, got {type}")
    demand_result(claim, TOKEN)


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.after_all": _after_all,
    "stablehlo.create_token": _token,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.tuple": _tuple,
}
