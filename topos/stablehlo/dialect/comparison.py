"""Comparison, and what chooses by it: select and clamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lark import Token

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Definition, Operand, define
from topos.stablehlo.dialect._demands import Spoken
from topos.stablehlo.elements import ANY, COMPLEX, FLOATS, PREDICATE, SIGNED, UNSIGNED
from topos.stablehlo.equality import same
from topos.stablehlo.ir import FunctionType, Operation, Type, Word
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.shapes import merged, shapes_agree
from topos.stablehlo.traits import Trait

__all__ = ["Clamp", "Compare", "Select"]

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
    comparison_direction = Spoken("a direction", "#stablehlo<comparison_direction", _DIRECTIONS)
    compare_type = Spoken(
        "a compare_type", "#stablehlo<comparison_type", tuple(_COMPARED), default="NOTYPE"
    )
    assembly = "$comparison_direction, $left, $right, $compare_type? : functional-type"
    traits = Trait.ELEMENTWISE | Trait.MHLO

    def infer(self) -> tuple[Type, ...]:
        """Returns truth values of the operands' shape."""
        left, right = self.left, self.right
        if left.element != right.element:
            self.refuse(f"needs operands of one element, got {left} and {right}")
        _, kind = self.comparison_direction, self.compare_type
        if left.element not in _COMPARED[kind]:
            self.refuse(f"does not compare elements of {left.element} as {kind}")
        return (merged(self, (left, right), "operands")._replace(element="i1"),)

    @staticmethod
    def read(parsed: ParsedOperation) -> ParsedOperation:
        """Returns the operation with its one or two words as attributes."""
        words = [word.value for word in parsed.words if isinstance(word, Token)]
        if not 1 <= len(words) <= 2 or len(words) != len(parsed.words):
            raise parsed.misread("comparison_direction and perhaps compare_type")
        spelled = {"comparison_direction": Compare.comparison_direction.made(words[0])}
        if len(words) == 2:
            spelled["compare_type"] = Compare.compare_type.made(words[1])
        return parsed.spelled(spelled)

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the direction, the operands and the type, where both are words of their kind."""
        rest = dict(operation.attributes)
        parts = list(operation.operands)
        direction, kind = rest.pop("comparison_direction", None), rest.pop("compare_type", None)
        if not _is_word(direction, cls.comparison_direction):
            return None
        if kind is not None:
            if not _is_word(kind, cls.compare_type):
                return None
            parts.append(str(kind))
        return Head(", ".join([str(direction), *parts]), rest)


def _is_word(value: object, kind: Spoken) -> bool:
    return isinstance(value, Word) and same(value, kind.made(value))


@define("stablehlo.select")
class Select(Definition):
    """The elements of `on_true` where `mask` is true, and those of `on_false` elsewhere."""

    mask = Operand()
    on_true = Operand()
    on_false = Operand()
    # What follows the colon is the mask's type and that of the values, where these share one.
    assembly = "$mask, $on_true, $on_false"
    traits = Trait.MOVES | Trait.ELEMENTWISE | Trait.MHLO

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the two values share."""
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
        """Returns the mask's type and the one of the values, where they share it."""
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
    traits = Trait.ELEMENTWISE | Trait.MHLO

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type."""
        operand = self.operand
        for bound, name in ((self.minimum, "minimum"), (self.maximum, "maximum")):
            shaped = not bound.shape or shapes_agree(bound.shape, operand.shape)
            if bound.element != operand.element or not shaped:
                self.refuse(f"needs a {name} that is scalar or as {operand}, got {bound}")
        return (operand,)
