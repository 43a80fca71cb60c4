"""What the operations share that work element by element on operands of one type."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from topos.stablehlo.definition import Definition, Operand
from topos.stablehlo.dialect._demands import demand_one_element
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.shapes import TensorType, merged
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import ANY


def truth(element: str) -> str:
    """Returns the element of what is true or false, whatever elements it is told of."""
    return "i1"


class Elementwise(Definition):
    """Operands of one type, with elements among `elements`, and a result of the same shape."""

    elements: ClassVar[frozenset[str]] = ANY
    # The element of the result, given that of the operands.
    made: ClassVar[Callable[[str], str]] = str
    assembly = "$operands : same-type"
    traits = Trait.ELEMENTWISE

    def taken(self) -> list[TensorType]:
        """Returns the types of the operands, which have one element."""
        taken: list[TensorType] = [getattr(self, name) for name in self.declared_operands]
        for type in taken:
            if type.element not in self.elements:
                self.refuse(f"takes no elements of {type.element} as operand")
        demand_one_element(self, taken)
        return taken

    def joined(self) -> TensorType:
        """Returns the type that knows what any of the operands knows."""
        return merged(self, self.taken(), "operands")

    def infer(self) -> tuple[Type, ...]:
        joined = self.joined()
        return (joined._replace(element=type(self).made(joined.element)),)


class Alike(Elementwise):
    """Operands of one type, which is also the result's."""

    def verify(self) -> None:
        operands, results = self.operands, self.results
        # Nearly every operation states one type throughout; only the others are looked at closely.
        if len(operands) == len(self.declared_operands) and len(results) == 1:
            first = operands[0]
            if (
                type(first) is Tensor
                and first.element in self.elements
                and results[0] == first
                and operands.count(first) == len(operands)
            ):
                self.demand_attributes()
                return
        super().verify()


class Unary(Alike):
    """One operand, whose type is also the result's."""

    operand = Operand()


class Binary(Alike):
    """Two operands of one type, which is also the result's."""

    left = Operand("operand")
    right = Operand("operand")


class Commutative(Binary):
    """Two operands of one type, either of which may come first."""

    traits = Binary.traits | Trait.COMMUTATIVE
