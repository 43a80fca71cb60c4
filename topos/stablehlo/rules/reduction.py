"""Rules of the operations that apply a body along axes: reduce and map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._numbers import axes_below, distinct, packed
from topos.stablehlo.dialect._reducers import bodies, demand_reducer
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.ir import FunctionType, Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    bounds_of,
    demand_result,
    demand_results,
    merged,
    of_bounds,
)

__all__ = ["RULES"]


def _reduce(claim: OpView) -> None:
    if not claim.operands or len(claim.operands) % 2:
        claim.refuse(f"needs as many initial values as inputs, got {len(claim.operands)} operands")
    count = len(claim.operands) // 2
    inputs = tuple([holding(claim, type, "an input") for type in claim.operands[:count]])
    initials = tuple([holding(claim, type, "an initial value") for type in claim.operands[count:]])
    (body,) = bodies(claim)
    merged(claim, inputs, "inputs")
    witness = inputs[0]
    axes = packed(claim, "dimensions")
    axes_below(claim, axes, len(witness.shape), "dimensions")
    distinct(claim, axes, "dimensions")
    kept = [axis for axis in range(len(witness.shape)) if axis not in axes]
    shape = tuple([witness.shape[axis] for axis in kept])
    returned = demand_reducer(claim, body, inputs, initials, shape)
    bounds = bounds_of(witness)
    left = tuple([bounds[axis] for axis in kept])
    demand_results(claim, tuple([of_bounds(shape, each.element, left) for each in returned]))


def _map(claim: OpView) -> None:
    if not claim.operands:
        claim.refuse("needs 1 or more operands, got 0")
    claim.takes(len(claim.operands))
    inputs = tuple([holding(claim, type, "an operand") for type in claim.operands])
    (body,) = bodies(claim)
    returned = _mapped(claim, body, inputs)
    known = merged(claim, inputs, "operands")
    axes = packed(claim, "dimensions")
    if axes != tuple(range(len(inputs[0].shape))):
        rank = len(inputs[0].shape)
        claim.refuse(f"needs every one of {rank} axes in order as dimensions, got {list(axes)}")
    demand_result(claim, known._replace(element=returned.element))


def _mapped(claim: OpView, body: FunctionType, inputs: tuple[Tensor, ...]) -> Tensor:
    """Returns the scalar type that the body of a map makes of a scalar of each operand."""
    if len(body.operands) != len(inputs):
        claim.refuse(f"needs a body of {len(inputs)} arguments, got {len(body.operands)}")
    for type, taken in zip(body.operands, inputs, strict=True):
        argument = holding(claim, type, "an argument of the body")
        if argument.shape or argument.element != taken.element:
            claim.refuse(f"needs a body that takes tensor<{taken.element}>, got {argument}")
    if len(body.results) != 1:
        claim.refuse(f"needs a body that returns 1 value, got {len(body.results)}")
    returned = holding(claim, body.results[0], "the body's result")
    if returned.shape:
        claim.refuse(f"needs a body that returns a scalar, got {returned}")
    return returned


RULES: Final[Mapping[str, Rule]] = {"stablehlo.map": _map, "stablehlo.reduce": _reduce}
