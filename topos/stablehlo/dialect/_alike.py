"""What the operations share that work element by element on operands of one type."""

from __future__ import annotations

from typing import ClassVar

from topos.stablehlo.definition import Definition, Operand
from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.shapes import merged, ranked
from topos.stablehlo.traits import Trait

__all__ = ["Alike", "Binary", "Elementwise", "Unary"]


class Elementwise(Definition):
    """Operands of one type, with elements among `elements`; each subclass says what results."""

    elements: ClassVar[frozenset[str]] = ANY
    assembly = "$operands : same-type"
    traits = Trait.ELEMENTWISE | Trait.MHLO

    def joined(self) -> Tensor:
        """Returns the type that knows what any of the operands knows."""
        tensors = [ranked(self, type, "operand") for type in self.operands]
        first = tensors[0]
        demand_element(self, first, self.elements)
        if any(other.element != first.element for other in tensors):
            self.refuse(f"needs operands of one element, got {', '.join(map(str, tensors))}")
        return ranked(self, merged(self, tensors, "operands"), "operand")


class Alike(Elementwise):
    """Operands of one type, which is also the result's."""

    def verify(self) -> None:
        """Refuses types that no run could make one."""
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
                return
        super().verify()

    def infer(self) -> tuple[Type, ...]:
        """Returns the type that the operands share."""
        return (self.joined(),)


class Unary(Alike):
    """One operand, whose type is also the result's."""

    operand = Operand()


class Binary(Alike):
    """Two operands of one type, which is also the result's."""

    left = Operand()
    right = Operand()
