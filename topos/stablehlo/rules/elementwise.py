"""Rules of the operations that work element by element on operands of one type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.elements import (
    ANY,
    COMPLEX,
    FLOATS,
    INTEGERS,
    PREDICATE,
    SIGNED,
    demand_element,
)
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import demand_result, merged, ranked

__all__ = ["RULES", "alike"]

_NUMBERS: Final = INTEGERS | FLOATS | COMPLEX
_CONTINUOUS: Final = FLOATS | COMPLEX
_REALS: Final = {"complex<f32>": "f32", "complex<f64>": "f64"}
_TOLERANCES: Final = ("atol", "rtol", "ulps")
_MODES: Final = ("DEFAULT", "HIGHEST", "TOLERANCE")


def alike(count: int, taken: frozenset[str]) -> Rule:
    """Returns the rule of `count` operands and a result of one type with elements of `taken`."""

    def rule(claim: OpView) -> None:
        operands, results = claim.operands, claim.results
        if len(operands) != count or len(results) != 1:
            claim.takes(count)
        first = operands[0]
        # Nearly every operation states one type throughout; only the others are looked at closely.
        if type(first) is not Tensor or first.element not in taken:
            demand_element(claim, ranked(claim, first, "operand"), taken)
        if results[0] == first and all(other == first for other in operands):
            return
        _demand_alike(claim)

    return rule


def _demand_alike(claim: OpView) -> None:
    tensors = [ranked(claim, type, "operand") for type in claim.operands]
    elements = {tensor.element for tensor in tensors}
    if len(elements) > 1:
        shown = ", ".join(map(str, tensors))
        claim.refuse(f"needs operands of one element, got {shown}")
    demand_result(claim, merged(claim, tensors, "operands"))


def _accurate(claim: OpView) -> None:
    """Checks a function of a continuous element and the accuracy asked of its result."""
    _CONTINUOUS_ALIKE(claim)
    if "result_accuracy" not in claim.operation.attributes:
        return
    fields = claim.fields("result_accuracy")
    mode = fields.get("mode", "DEFAULT")
    if mode not in _MODES:
        claim.refuse(f"needs an accuracy of {' '.join(_MODES)}, got {mode}")
    tolerances = [fields.get(key, 0) for key in _TOLERANCES]
    if any(type(each) not in (int, float) or each < 0 for each in tolerances):
        claim.refuse(f"needs tolerances of 0 or more, got {tolerances}")
    if mode != "TOLERANCE" and any(tolerances):
        claim.refuse(f"takes no tolerances with the mode {mode}, got {tolerances}")


_CONTINUOUS_ALIKE: Final = alike(1, _CONTINUOUS)


def _magnitude(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, SIGNED | FLOATS | COMPLEX)
    demand_result(claim, operand._replace(element=_REALS.get(operand.element, operand.element)))


def _is_finite(claim: OpView) -> None:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, FLOATS)
    demand_result(claim, operand._replace(element="i1"))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.abs": _magnitude,
    "stablehlo.is_finite": _is_finite,
    **{
        f"stablehlo.{name}": _accurate
        for name in (
            "cbrt",
            "cosine",
            "exponential",
            "exponential_minus_one",
            "log",
            "log_plus_one",
            "logistic",
            "rsqrt",
            "sine",
            "sqrt",
            "tan",
            "tanh",
        )
    },
    **{
        f"stablehlo.{name}": alike(1, FLOATS)
        for name in ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
    },
    "stablehlo.negate": alike(1, _NUMBERS),
    "stablehlo.sign": alike(1, SIGNED | FLOATS | COMPLEX),
    **{f"stablehlo.{name}": alike(2, ANY) for name in ("add", "maximum", "minimum", "multiply")},
    **{
        f"stablehlo.{name}": alike(2, _NUMBERS)
        for name in ("divide", "power", "remainder", "subtract")
    },
    "stablehlo.atan2": alike(2, _CONTINUOUS),
    **{f"stablehlo.{name}": alike(2, PREDICATE | INTEGERS) for name in ("and", "or", "xor")},
    "stablehlo.not": alike(1, PREDICATE | INTEGERS),
    **{f"stablehlo.{name}": alike(1, INTEGERS) for name in ("count_leading_zeros", "popcnt")},
    **{
        f"stablehlo.{name}": alike(2, INTEGERS)
        for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")
    },
}
