"""The signatures of pretty forms: how the types of operands and results are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topos.stablehlo.attribute_text import function_type, produced
from topos.stablehlo.ir import FunctionType, Tensor, TupleType, Type

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


def _arrow(type: FunctionType) -> str:
    return f"{_joined(type.operands)} -> {produced(type.results)}"


def _selected(type: FunctionType) -> str:
    mask, *chosen = type.operands
    if len(chosen) == 2 and {*chosen} == {*type.results}:
        return f"{mask}, {type.results[0]}"
    return function_type(type)


def _complex(type: FunctionType) -> str:
    """The type of the result where the operands are of its parts'."""
    (result,) = type.results
    if isinstance(result, Tensor) and result.element.startswith("complex<"):
        parts = result._replace(element=result.element[len("complex<") : -1])
        if {*type.operands} == {parts}:
            return str(result)
    return function_type(type)


def _tuple(type: FunctionType) -> str:
    match type.results:
        case (TupleType(parts) as whole,) if parts == type.operands:
            return str(whole)
    return function_type(type)


def _callee(type: FunctionType) -> str:
    return function_type(FunctionType(type.operands[1:], type.results))


_CHLO_BROADCAST: Final = (
    "add and atan2 divide maximum minimum multiply next_after or polygamma power remainder select"
    " shift_left shift_right_arithmetic shift_right_logical subtract xor"
)
_CHLO_ARROW: Final = (
    "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf"
    " is_neg_inf is_pos_inf lgamma mulhi next_after polygamma sinh square tan zeta"
)
_SHARED: Final = (
    "abs add after_all and atan2 cbrt ceil clamp convert cosine count_leading_zeros divide"
    " exponential exponential_minus_one floor imag log log_plus_one logistic maximum minimum"
    " multiply negate not or popcnt power real reduce_precision remainder round_nearest_afz"
    " round_nearest_even rsqrt shift_left shift_right_arithmetic shift_right_logical sign sine"
    " sqrt subtract tan tanh xor"
)
_FUNCTIONAL: Final = (
    "bitcast_convert compare composite custom_call get_tuple_element is_finite rng"
    " rng_bit_generator"
)

SIGNATURES: Final[Mapping[str, Signature]] = {
    **{f"chlo.broadcast_{name}": function_type for name in _CHLO_BROADCAST.split()},
    **{f"chlo.{name}": _arrow for name in _CHLO_ARROW.split()},
    **{f"stablehlo.{name}": _shared for name in _SHARED.split()},
    **{f"stablehlo.{name}": function_type for name in _FUNCTIONAL.split()},
    "func.call": function_type,
    "func.call_indirect": _callee,
    "func.constant": _results,
    "stablehlo.complex": _complex,
    "stablehlo.create_token": _results,
    "stablehlo.iota": _results,
    "stablehlo.optimization_barrier": _operands,
    "stablehlo.partition_id": _results,
    "stablehlo.replica_id": _results,
    "stablehlo.select": _selected,
    "stablehlo.tuple": _tuple,
}
