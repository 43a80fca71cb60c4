"""Functions: their definition, their end, calls of them, and names of them as values."""

from __future__ import annotations

from topos.stablehlo.assembly import Head, named
from topos.stablehlo.attribute_text import function_type, referred
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect.control import End
from topos.stablehlo.ir import Function, FunctionType, Operation, Symbol, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Name

__all__ = ["Call", "CallIndirect", "Constant", "Func", "Return", "demand_signature", "function_of"]


@define("func.func")
class Func(Definition):
    """A function of a module; the parser makes `Function` of it."""

    traits = Trait.UNSUPPORTED
    has_regions = True


@define("func.return")
class Return(End):
    """The end of a function, whose results are the operands."""

    attributes_lead = True


@define("func.call")
class Call(Definition):
    """The results of the function `callee` of the module, given the operands."""

    callee = Name()
    calls = "callee"
    assembly = "$callee($operands) : functional-type"

    def verify(self) -> None:
        """Refuses other types than those of the function."""
        demand_signature(self, self.callee)

    def infer(self) -> tuple[Type, ...]:
        """Returns the types that the function states."""
        return tuple([result.type for result in function_of(self, self.callee).results])

    @staticmethod
    def read(parsed: ParsedOperation) -> ParsedOperation:
        """Returns the symbol as the callee."""
        return parsed.spelled({"callee": Symbol(parsed.called("callee", Symbol))})

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the callee and the operands in parentheses."""
        return named(operation, "callee", Symbol)


@define("func.call_indirect")
class CallIndirect(Definition):
    """The results of the function that the first operand is, given the others."""

    traits = Trait.UNSUPPORTED
    assembly = "$callee($operands)"

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the first operand and the others in parentheses."""
        if not operation.operands:
            return None
        callee, *operands = operation.operands
        return Head(f"{callee}({', '.join(operands)})", operation.attributes)

    @staticmethod
    def signature(type: FunctionType) -> str:
        """Returns the type of the callee, which tells those of the operands and results."""
        return function_type(FunctionType(type.operands[1:], type.results))


@define("func.constant")
class Constant(Definition):
    """The function `value` of the module as a value."""

    value = Name()
    traits = Trait.UNSUPPORTED
    assembly = "$value : result-types"

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the name of the function."""
        rest = dict(operation.attributes)
        name = rest.pop("value", None)
        return Head(referred(name), rest) if isinstance(name, Symbol) else None


def function_of(view: OpView, name: str) -> Function:
    """Returns the function of the module that is called `name`."""
    function = view.functions.get(name)
    if function is None:
        view.refuse(f"needs a function, got @{name}")
    return function


def demand_signature(view: OpView, name: str) -> None:
    """Refuses unless the function `name` is of the types of the operation."""
    function = function_of(view, name)
    arguments = tuple([argument.type for argument in function.arguments])
    results = tuple([result.type for result in function.results])
    if arguments != view.operands or results != view.results:
        needs, got = FunctionType(arguments, results), FunctionType(view.operands, view.results)
        view.refuse(f"needs the types of @{name}, {needs}, got {got}")
