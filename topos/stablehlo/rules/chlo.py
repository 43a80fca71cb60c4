"""Rules of the CHLO operations that work element by element, also with broadcasting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._broadcasting import broadcast, broadcast_along
from topos.stablehlo.dialect._choices import choice
from topos.stablehlo.dialect._numbers import packed
from topos.stablehlo.dialect._tensors import filled, holding
from topos.stablehlo.elements import (
    ANY,
    COMPLEX,
    FLOATS,
    INTEGERS,
    PREDICATE,
)
from topos.stablehlo.ir import Dense, Tensor, Typed
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import TensorType, demand_result, merged

__all__ = ["RULES"]

_DIRECTIONS: Final = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARISONS: Final = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


def _alike(count: int, elements: frozenset[str], known_rank: bool = False) -> Rule:
    """Returns the rule of `count` operands of one type that is also the result's."""

    def rule(claim: OpView) -> None:
        claim.takes(count)
        take = holding if known_rank else filled
        taken = [take(claim, type, "operand", elements) for type in claim.operands]
        _demand_one_element(claim, taken)
        demand_result(claim, merged(claim, taken, "operands"))

    return rule


def _demand_one_element(claim: OpView, taken: list[TensorType]) -> None:
    if len({type.element for type in taken}) > 1:
        claim.refuse(f"needs operands of one element, got {', '.join(map(str, taken))}")


def _asked(claim: OpView) -> None:
    claim.takes(1)
    operand = filled(claim, claim.operands[0], "operand", FLOATS)
    demand_result(claim, operand._replace(element="i1"))


def _broadcast(elements: frozenset[str]) -> Rule:
    """Returns the rule of two operands that are broadcast together and keep their element."""

    def rule(claim: OpView) -> None:
        demand_result(claim, _joined(claim, elements))

    return rule


def _joined(claim: OpView, elements: frozenset[str]) -> TensorType:
    claim.takes(2)
    left, right = (filled(claim, type, "operand", elements) for type in claim.operands)
    _demand_one_element(claim, [left, right])
    if "broadcast_dimensions" not in claim.operation.attributes:
        return broadcast(claim, (left, right), left.element)
    return broadcast_along(claim, left, right, packed(claim, "broadcast_dimensions"))


def _broadcast_complex(claim: OpView) -> None:
    joined = _joined(claim, frozenset({"f32", "f64"}))
    demand_result(claim, joined._replace(element=f"complex<{joined.element}>"))


def _broadcast_compare(claim: OpView) -> None:
    joined = _joined(claim, ANY)
    choice(claim, "comparison_direction", "#chlo<comparison_direction", _DIRECTIONS)
    choice(claim, "compare_type", "#chlo<comparison_type", _COMPARISONS, "NOTYPE")
    demand_result(claim, joined._replace(element="i1"))


def _broadcast_select(claim: OpView) -> None:
    claim.takes(3)
    mask = holding(claim, claim.operands[0], "mask", PREDICATE)
    values = [filled(claim, type, "value") for type in claim.operands[1:]]
    _demand_one_element(claim, values)
    demand_result(claim, broadcast(claim, (mask, *values), values[0].element))


def _constant(claim: OpView) -> None:
    claim.takes(0)
    value = claim.attribute("value")
    if not isinstance(value, Dense) or not isinstance(value.type, Tensor):
        claim.refuse(f"needs a dense constant, got {value}")
    if None in value.type.shape:
        claim.refuse(f"needs a constant of known extents, got {value.type}")
    demand_result(claim, value.type)


def _constant_like(claim: OpView) -> None:
    claim.takes(1)
    operand = filled(claim, claim.operands[0], "operand")
    result = filled(claim, claim.results[0], "result")
    claim.attribute("value")
    value = claim.operation.attributes["value"]
    element = str(value.type) if isinstance(value, Typed) else _USUAL.get(type(value), "")
    if element != result.element:
        claim.refuse(f"needs a value of {result.element}, got {value}")
    demand_result(claim, operand._replace(element=element))


# The elements of the numbers whose type a text leaves out.
_USUAL: Final[Mapping[type, str]] = {bool: "i1", int: "i64", float: "f64"}
_CONTINUOUS: Final = FLOATS | COMPLEX
_CURVES: Final = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bessel_i1e",
    "conj",
    "cosh",
    "sinh",
    "square",
    "tan",
)
_REAL_CURVES: Final = ("digamma", "erf", "erf_inv", "erfc", "lgamma")
_ARITHMETIC: Final = (
    "add",
    "atan2",
    "divide",
    "maximum",
    "minimum",
    "multiply",
    "next_after",
    "polygamma",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
)

RULES: Final[Mapping[str, Rule]] = {
    "chlo._asin_acos_kernel": _alike(1, COMPLEX),
    "chlo.broadcast_compare": _broadcast_compare,
    "chlo.broadcast_complex": _broadcast_complex,
    "chlo.broadcast_select": _broadcast_select,
    "chlo.broadcast_zeta": _broadcast(FLOATS),
    "chlo.constant": _constant,
    "chlo.constant_like": _constant_like,
    "chlo.mulhi": _alike(2, INTEGERS, known_rank=True),
    **{f"chlo.{name}": _alike(1, _CONTINUOUS) for name in _CURVES},
    **{f"chlo.{name}": _alike(1, FLOATS) for name in _REAL_CURVES},
    **{f"chlo.{name}": _alike(2, FLOATS) for name in ("next_after", "polygamma", "zeta")},
    **{f"chlo.{name}": _asked for name in ("is_inf", "is_neg_inf", "is_pos_inf")},
    **{f"chlo.broadcast_{name}": _broadcast(ANY) for name in _ARITHMETIC},
    **{f"chlo.broadcast_{name}": _broadcast(PREDICATE | INTEGERS) for name in ("and", "or", "xor")},
}
