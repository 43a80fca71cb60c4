"""What the operations that end a block share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from topos.stablehlo.attribute_text import dictionary
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Operation, Type
from topos.stablehlo.traits import Trait

if TYPE_CHECKING:
    from topos.stablehlo.printer.writer import Writer

__all__ = ["End"]


class End(Definition):
    """The end of a block, whose operands are what the block returns."""

    traits = Trait.TERMINATOR | Trait.WITHOUT_RESULT
    # Whether its attributes stand before its operands.
    attributes_lead: ClassVar[bool] = False

    def infer(self) -> tuple[Type, ...]:
        """Returns nothing: an end has no results."""
        return ()

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes the operands with their types, or the name alone."""
        if operation.regions or operation.results:
            return False
        rest = [dictionary(operation.attributes)] if operation.attributes else []
        name, uses = writer.name(operation), [", ".join(operation.operands)]
        if not operation.operands:
            writer.line(" ".join([name, *rest]))
            return True
        parts = [*rest, *uses] if cls.attributes_lead else [*uses, *rest]
        types = ", ".join(map(str, writer.type(operation).operands))
        writer.line(f"{' '.join([name, *parts])} : {types}")
        return True
