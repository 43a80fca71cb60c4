"""Conversion, from any element to any other."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.ir import Type
from topos.stablehlo.traits import Trait

__all__ = ["Convert"]


@define("stablehlo.convert")
class Convert(Definition):
    """Each element of `operand` as the nearest one of the result's kind."""

    operand = Operand()
    result = Result()
    assembly = "$operand : same-type"
    traits = Trait.MOVES | Trait.ELEMENTWISE | Trait.MHLO

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type with the stated element."""
        operand, result = self.operand, self.result
        return (operand._replace(element=result.element),)
