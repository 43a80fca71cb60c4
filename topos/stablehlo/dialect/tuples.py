"""Tuples, and tokens, which carry an order and no data."""

from __future__ import annotations

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.ir import FunctionType, Operation, OtherType, TupleType, Type, Typed
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import shown
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer
from topos.stablehlo.types import TOKEN


@define("stablehlo.tuple")
class Tuple(Definition):
    """The operands as one value."""

    assembly = "$operands"
    traits = Trait.MOVES
    operand_order = "the parts"
    is_exact = True

    def infer(self) -> tuple[Type, ...]:
        for type in self.operands:
            _demand_part(self, type)
        return (TupleType(self.operands),)

    @staticmethod
    def signature(type: FunctionType) -> str:
        match type.results:
            case (TupleType(parts) as whole,) if parts == type.operands:
                return str(whole)
        return function_type(type)


@define("stablehlo.get_tuple_element")
class GetTupleElement(Definition):
    """The part `index` of a tuple."""

    index = Integer(width="i32", least=0)
    assembly = "$operand[$index] : functional-type"
    traits = Trait.MOVES
    operand_order = "a tuple"

    def infer(self) -> tuple[Type, ...]:
        operand = self.operands[0] if len(self.operands) == 1 else shown(self.operands)
        if not isinstance(operand, TupleType):
            self.refuse(f"needs a tuple, got {operand}")
        _demand_part(self, operand)
        if self.index >= len(operand.parts):
            self.refuse(f"needs an index below {len(operand.parts)}, got {self.index}")
        return (operand.parts[self.index],)

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        match parsed.words:
            case (((int() as index,),),):
                return parsed.spelled({"index": Typed(index, OtherType("i32"))})
        raise parsed.misread("[index]")

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        rest = dict(operation.attributes)
        match rest.pop("index", None), operation.operands:
            case Typed(int() as index, OtherType("i32")), (operand,):
                return Head(f"{operand}[{index}]", rest)
        return None


def _demand_part(view: OpView, type: Type) -> None:
    """Refuses what no tuple holds: all but tokens, ranked tensors of the specification, tuples."""
    if isinstance(type, TupleType):
        for part in type.parts:
            _demand_part(view, part)
    elif type != TOKEN:
        holding(view, type, "part")


@define("stablehlo.create_token")
class CreateToken(Definition):
    """A token that waits for nothing."""

    rounding = EXACT
    assembly = " : result-types"

    def infer(self) -> tuple[Type, ...]:
        return (TOKEN,)


@define("stablehlo.after_all")
class AfterAll(Definition):
    """A token that waits for all the operands."""

    rounding = EXACT
    assembly = "$operands : same-type"
    operand_order = "any number of tokens"

    def infer(self) -> tuple[Type, ...]:
        for type in self.operands:
            if type != TOKEN:
                self.refuse(f"needs tokens, got {type}")
        return (TOKEN,)
