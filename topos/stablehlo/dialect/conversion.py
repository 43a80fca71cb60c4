"""Conversion, from any element to any other; nothing here holds those that are quantized."""

from __future__ import annotations

import numpy as np

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.ir import Type
from topos.stablehlo.rounding import Once
from topos.stablehlo.traits import Trait


@define("stablehlo.convert")
class Convert(Definition):
    """Each element of `operand` as the nearest one of the result's kind."""

    operand = Operand()
    result = Result()
    assembly = "$operand : same-type"
    traits = Trait.MOVES | Trait.ELEMENTWISE | Trait.DECIDES
    rounding = Once(np.positive)

    def infer(self) -> tuple[Type, ...]:
        operand, result = self.operand, self.result
        return (operand._replace(element=result.element),)


class _Quantized(Definition):
    """An operation between quantized elements and others; it is read, and refused."""

    operand = Operand()
    result = Result()

    def infer(self) -> tuple[Type, ...]:
        self.unsupported("works on quantized elements, which are not supported")


UniformDequantize = _Quantized.named(
    "stablehlo.uniform_dequantize",
    "The numbers that the quantized elements of `operand` stand for.",
)
UniformQuantize = _Quantized.named(
    "stablehlo.uniform_quantize",
    "The elements of `operand` as quantized ones of the result's kind.",
)
