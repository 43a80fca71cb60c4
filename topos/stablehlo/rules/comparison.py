"""Rules of comparison and of what chooses by it: select and clamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.elements import (
    ANY,
    COMPLEX,
    FLOATS,
    PREDICATE,
    SIGNED,
    UNSIGNED,
    demand_element,
)
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, merged, ranked, shapes_agree

__all__ = ["RULES"]

_DIRECTIONS: Final = ("EQ", "NE", "LT", "LE", "GT", "GE")
_COMPARED: Final[Mapping[str, frozenset[str]]] = {
    "NOTYPE": ANY,
    "SIGNED": SIGNED,
    "UNSIGNED": UNSIGNED | PREDICATE,
    "FLOAT": FLOATS | COMPLEX,
    "TOTALORDER": FLOATS,
}


def _compare(claim: OpView) -> None:
    claim.takes(2)
    left, right = (ranked(claim, type, "operand") for type in claim.operands)
    demand_element(claim, left, ANY)
    if left.element != right.element:
        claim.refuse(f"needs operands of one element, got {left} and {right}")
    direction = claim.word("comparison_direction")
    if direction not in _DIRECTIONS:
        claim.refuse(f"needs a direction of {' '.join(_DIRECTIONS)}, got {direction}")
    kind = claim.word("compare_type", "NOTYPE")
    if kind not in _COMPARED:
        claim.refuse(f"needs a compare_type of {' '.join(_COMPARED)}, got {kind}")
    if left.element not in _COMPARED[kind]:
        claim.refuse(f"does not compare elements of {left.element} as {kind}")
    demand_result(claim, merged(claim, (left, right), "operands")._replace(element="i1"))


def _select(claim: OpView) -> None:
    claim.takes(3)
    mask, chosen, other = (ranked(claim, type, "operand") for type in claim.operands)
    demand_element(claim, chosen, ANY)
    if chosen.element != other.element:
        claim.refuse(f"needs values of one element, got {chosen} and {other}")
    result = merged(claim, (chosen, other), "values")
    shaped = not mask.shape or shapes_agree(mask.shape, chosen.shape)
    if mask.element != "i1" or not shaped:
        claim.refuse(f"needs a mask of i1 that is scalar or as {chosen}, got {mask}")
    demand_result(claim, result)


def _clamp(claim: OpView) -> None:
    claim.takes(3)
    low, operand, high = (ranked(claim, type, "operand") for type in claim.operands)
    demand_element(claim, operand, ANY)
    for bound, name in ((low, "minimum"), (high, "maximum")):
        shaped = not bound.shape or shapes_agree(bound.shape, operand.shape)
        if bound.element != operand.element or not shaped:
            claim.refuse(f"needs a {name} that is scalar or as {operand}, got {bound}")
    demand_result(claim, operand)


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
}
