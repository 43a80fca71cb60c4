"""The signatures of pretty forms: how the types of operands and results are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.runtimes._stablehlo.printing.attributes import function_type, produced
from topos.runtimes._stablehlo.syntax import FunctionType, OtherType, Tensor, TupleType, Type

__all__ = ["SIGNATURES"]

# Returns the text after an operation's colon.
Signature = Callable[[FunctionType], str]


def _joined(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))


def _shared(type: FunctionType) -> str:
    """One type where operands and result have the same."""
    (result,) = type.results
    return str(result) if set(type.operands) <= {result} else function_type(type)


def _results(type: FunctionType) -> str:
    return _joined(type.results)


def _operands(type: FunctionType) -> str:
    return _joined(type.operands)


def _arrow(type: FunctionType) -> str:
    return f"{_joined(type.operands)} -> {produced(type.results)}"


def _selected(type: FunctionType) -> str:
    mask, *chosen = type.operands
    if len(chosen) == 2 and {*chosen} == {*type.results}:
        return f"{mask}, {type.results[0]}"
    return function_type(type)


def _complex(type: FunctionType) -> str:
    (result,) = type.results
    parts = _parts(result)
    return str(result) if set(type.operands) == {parts} else function_type(type)


def _parts(type: Type) -> Type | None:
    if not isinstance(type, Tensor) or not type.element.startswith("complex<"):
        return None
    return type._replace(element=type.element[len("complex<") : -1])


def _tuple(type: FunctionType) -> str:
    (result,) = type.results
    whole = isinstance(result, TupleType) and result.parts == type.operands
    return str(result) if whole else function_type(type)


def _cast(type: FunctionType) -> str:
    return f"{_joined(type.operands)} to {_joined(type.results)}"


def _callee(type: FunctionType) -> str:
    return function_type(FunctionType(type.operands[1:], type.results))


_SHARED: Final = (
    "abs add after_all and atan2 cbrt ceil cholesky clamp convert cosine count_leading_zeros"
    " divide exponential exponential_minus_one floor imag is_finite log log_plus_one logistic"
    " maximum minimum multiply negate not or popcnt power real reduce_precision remainder reverse"
    " round_nearest_afz round_nearest_even rsqrt shift_left shift_right_arithmetic"
    " shift_right_logical sign sine sqrt subtract tan tanh xor"
)
