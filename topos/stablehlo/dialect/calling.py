"""Modules and functions: their definition, their end, calls of them, and names as values."""

from __future__ import annotations

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect.control import End
from topos.stablehlo.ir import Function, FunctionType, Operation, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import Within
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Name


class _Unread(Definition):
    traits = Trait.UNSUPPORTED


Module = _Unread.named(
    "builtin.module", "The functions of a text; the parser makes `Module` of it."
)
UnrealizedConversionCast = _Unread.named(
    "builtin.unrealized_conversion_cast",
    "The operands under other types, by a conversion that was never finished.",
)
Func = _Unread.named("func.func", "A function of a module; the parser makes `Function` of it.")


@define("func.return")
class Return(End):
    """The end of a function, whose results are the operands."""

    rest_leads = True


@define("func.call")
class Call(Definition):
    """The results of the function `callee` of the module, given the operands."""

    callee = Name()
    operand_order = "the arguments of the function"
    calls = "callee"
    rounding = Within()
    assembly = "$callee($operands) : functional-type"

    def verify(self) -> None:
        demand_signature(self, self.callee)

    def infer(self) -> tuple[Type, ...]:
        return tuple([result.type for result in function_of(self, self.callee).results])


@define("func.call_indirect")
class CallIndirect(Definition):
    """The results of the function that the first operand is, given the others."""

    traits = Trait.UNSUPPORTED
    assembly = "$callee($operands)"

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
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
