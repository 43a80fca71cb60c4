"""Rules of batch normalization: inference, training and its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import axis
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import FLOATS
from topos.stablehlo.ir import OtherType, Tensor, Typed
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    bounds_of,
    demand_results,
    extents_agree,
    merged,
    of_bounds,
)

__all__ = ["RULES"]


def _inference(claim: OpView) -> None:
    operand = _normalized(claim, whole=(0,), single=(1, 2, 3, 4))
    demand_results(claim, (operand,))


def _training(claim: OpView) -> None:
    operand = _normalized(claim, whole=(0,), single=(1, 2))
    feature = _feature(claim, operand)
    demand_results(claim, (operand, feature, feature))


def _gradient(claim: OpView) -> None:
    operand = _normalized(claim, whole=(0, 4), single=(1, 2, 3))
    feature = _feature(claim, operand)
    demand_results(claim, (operand, feature, feature))


def _normalized(claim: OpView, whole: tuple[int, ...], single: tuple[int, ...]) -> Tensor:
    """Returns the operand; `whole` are the operands of its shape, `single` those of its features.

    All have one floating-point element.
    """
    count = len(whole) + len(single)
    if len(claim.operands) != count:
        claim.refuse(f"needs {count} operands, got {len(claim.operands)}")
    values = [holding(claim, type, "an operand", FLOATS) for type in claim.operands]
    operand = values[0]
    for value in values:
        if value.element != operand.element:
            claim.refuse(f"needs operands of one element, got {operand} and {value}")
    merged(claim, [values[index] for index in whole], "operands of every axis")
    for index in single:
        if len(values[index].shape) != 1:
            claim.refuse(f"needs a value for each feature in one axis, got {values[index]}")
    merged(claim, [values[index] for index in single], "operands of one axis")
    _demand_epsilon(claim)
    feature = _feature(claim, operand)
    given = values[single[0]]
    if not extents_agree(given.shape[0], feature.shape[0]):
        claim.refuse(f"needs {feature} for the features, got {given}")
    return operand


def _demand_epsilon(claim: OpView) -> None:
    epsilon = claim.operation.attributes.get("epsilon")
    if not isinstance(epsilon, Typed) or epsilon.type != OtherType("f32"):
        claim.refuse(f"needs an f32 as epsilon, got {epsilon}")


def _feature(claim: OpView, operand: Tensor) -> Tensor:
    index = axis(claim, "feature_index", len(operand.shape))
    bound = bounds_of(operand)[index]
    return of_bounds((operand.shape[index],), operand.element, (bound,))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.batch_norm_grad": _gradient,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_training": _training,
}
