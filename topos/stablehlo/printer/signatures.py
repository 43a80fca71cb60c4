"""The signatures of pretty forms: how the types of operands and results are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.stablehlo.attribute_text import function_type
from topos.stablehlo.ir import FunctionType, TupleType, Type

__all__ = ["SIGNATURES", "Signature"]

# Returns the text after an operation's colon.
Signature = Callable[[FunctionType], str]


def _joined(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))


def _shared(type: FunctionType) -> str:
    """One type where every operand is of the result's."""
    shared = len(type.results) == 1 and {*type.operands} <= {*type.results}
    return str(type.results[0]) if shared else function_type(type)


def _results(type: FunctionType) -> str:
    return _joined(type.results)


def _operands(type: FunctionType) -> str:
    return _joined(type.operands)


def _tuple(type: FunctionType) -> str:
    match type.results:
        case (TupleType(parts) as whole,) if parts == type.operands:
            return str(whole)
    return function_type(type)


def _callee(type: FunctionType) -> str:
    return function_type(FunctionType(type.operands[1:], type.results))


SIGNATURES: Final[Mapping[str, Signature]] = {
    "stablehlo.after_all": _shared,
    "stablehlo.composite": function_type,
    "stablehlo.custom_call": function_type,
    "stablehlo.get_tuple_element": function_type,
    "func.call": function_type,
    "func.call_indirect": _callee,
    "func.constant": _results,
    "stablehlo.create_token": _results,
    "stablehlo.optimization_barrier": _operands,
    "stablehlo.tuple": _tuple,
}
