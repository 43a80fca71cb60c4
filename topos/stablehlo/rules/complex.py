"""Rules of the operations that make complex numbers of two parts, or take a part of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.elements import COMPLEX, FLOATS, demand_element
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, merged, ranked

__all__ = ["RULES"]


def _complex(claim: OpView) -> None:
    claim.takes(2)
    left, right = (ranked(claim, type, "operand") for type in claim.operands)
    demand_element(claim, left, frozenset({"f32", "f64"}))
    if left.element != right.element:
        claim.refuse(f"needs operands of one element, got {left} and {right}")
    joined = merged(claim, (left, right), "operands")
    demand_result(claim, joined._replace(element=f"complex<{left.element}>"))


def _part(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, COMPLEX | FLOATS)
    element = operand.element.removeprefix("complex<").removesuffix(">")
    demand_result(claim, operand._replace(element=element))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.complex": _complex,
    "stablehlo.imag": _part,
    "stablehlo.real": _part,
}
