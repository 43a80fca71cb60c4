"""The rule of conversion, from any element to any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, ranked

__all__ = ["RULES"]


def _convert(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    result = ranked(claim, claim.results[0], "result")
    demand_element(claim, operand, ANY)
    demand_element(claim, result, ANY)
    demand_result(claim, operand._replace(element=result.element))


RULES: Final[Mapping[str, Rule]] = {"stablehlo.convert": _convert}
