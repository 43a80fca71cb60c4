"""The quantized operations, whose elements nothing here holds."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.ir import Type
from topos.stablehlo.traits import Trait

__all__ = ["UniformDequantize", "UniformQuantize"]


class _Quantized(Definition):
    """An operation between quantized elements and others; it is read, and refused."""

    operand = Operand()
    result = Result()
    traits = Trait.MHLO

    def verify(self) -> None:
        """Refuses the operation."""
        self.infer()

    def infer(self) -> tuple[Type, ...]:
        """Refuses the operation, whose types are not known here."""
        self.unsupported("works on quantized elements, which are not supported")


@define("stablehlo.uniform_dequantize")
class UniformDequantize(_Quantized):
    """The numbers that the quantized elements of `operand` stand for."""


@define("stablehlo.uniform_quantize")
class UniformQuantize(_Quantized):
    """The elements of `operand` as quantized ones of the result's kind."""
