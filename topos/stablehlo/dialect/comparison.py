"""Comparison, and what chooses by it: select and clamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Definition, Operand, define
from topos.stablehlo.ir import FunctionType, Type
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import merged, shapes_agree
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Choice
from topos.stablehlo.types import ANY, COMPLEX, FLOATS, PREDICATE, SIGNED, UNSIGNED

_DIRECTIONS: Final = ("EQ", "NE", "LT", "LE", "GT", "GE")
_COMPARED: Final[Mapping[str, frozenset[str]]] = {
    "NOTYPE": ANY,
    "SIGNED": SIGNED,
    "UNSIGNED": UNSIGNED | PREDICATE,
    "FLOAT": FLOATS | COMPLEX,
    "TOTALORDER": FLOATS,
}


@define("stablehlo.compare")
class Compare(Definition):
    """Whether the elements of `left` and `right` are in the order `comparison_direction`."""

    left = Operand()
    right = Operand()
    comparison_direction = Choice("#stablehlo<comparison_direction", _DIRECTIONS, may_be_bare=True)
    compare_type = Choice(
        "#stablehlo<comparison_type", _COMPARED, default="NOTYPE", may_be_bare=True
    )
    assembly = "$comparison_direction, $left, $right, $compare_type? : functional-type"
    traits = Trait.ELEMENTWISE | Trait.DECIDES
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        left, right = self.left, self.right
        if left.element != right.element:
            self.refuse(f"needs operands of one element, got {left} and {right}")
        _, kind = self.comparison_direction, self.compare_type
        if left.element not in _COMPARED[kind]:
            self.refuse(f"does not compare elements of {left.element} as {kind}")
        return (merged(self, (left, right), "operands")._replace(element="i1"),)


@define("stablehlo.select")
class Select(Definition):
    """The elements of `on_true` where `mask` is true, and those of `on_false` elsewhere."""

    mask = Operand()
    on_true = Operand()
    on_false = Operand()
    # What follows the colon is the mask's type and that of the values, where these share one.
    assembly = "$mask, $on_true, $on_false"
    traits = Trait.MOVES | Trait.ELEMENTWISE

    def infer(self) -> tuple[Type, ...]:
        mask, chosen, other = self.mask, self.on_true, self.on_false
        if chosen.element != other.element:
            self.refuse(f"needs values of one element, got {chosen} and {other}")
        result = merged(self, (chosen, other), "values")
        shaped = not mask.shape or shapes_agree(mask.shape, chosen.shape)
        if mask.element != "i1" or not shaped:
            self.refuse(f"needs a mask of i1 that is scalar or as {chosen}, got {mask}")
        return (result,)

    @staticmethod
    def signature(type: FunctionType) -> str:
        mask, *chosen = type.operands
        if len(chosen) == 2 and {*chosen} == {*type.results}:
            return f"{mask}, {type.results[0]}"
        return function_type(type)


@define("stablehlo.clamp")
class Clamp(Definition):
    """The elements of `operand`, raised to `minimum` and lowered to `maximum`."""

    minimum = Operand()
    operand = Operand()
    maximum = Operand()
    assembly = "$minimum, $operand, $maximum : same-type"
    traits = Trait.ELEMENTWISE
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        operand = self.operand
        for bound, name in ((self.minimum, "minimum"), (self.maximum, "maximum")):
            shaped = not bound.shape or shapes_agree(bound.shape, operand.shape)
            if bound.element != operand.element or not shaped:
                self.refuse(f"needs a {name} that is scalar or as {operand}, got {bound}")
        return (operand,)
