"""Rules of the operations between devices: which groups they form and what each gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import axis
from topos.stablehlo.dialect._numbers import marked, positive, table
from topos.stablehlo.dialect._reducers import bodies, demand_reducer
from topos.stablehlo.dialect._replicas import demand_channel, demand_groups
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.ir import FunctionType, Tensor, Type
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    bounds_of,
    demand_result,
    demand_results,
    of_bounds,
    shapes_agree,
)

__all__ = ["RULES"]


def _operands(claim: OpView) -> list[Tensor]:
    return [holding(claim, type, "operand") for type in claim.operands]


def _all_gather(claim: OpView) -> None:
    operands = _operands(claim)
    demand_groups(claim, uniform=True)
    demand_channel(claim, 0)
    if len(claim.results) != len(operands):
        claim.refuse(f"has a result for each of {len(operands)} operands, got {len(claim.results)}")
    for operand, stated in zip(operands, claim.results, strict=True):
        _demand_gathered(claim, operand, stated)


def _demand_gathered(claim: OpView, operand: Tensor, stated: Type) -> None:
    result = holding(claim, stated, "result")
    at = axis(claim, "all_gather_dim", len(operand.shape))
    if result.element != operand.element:
        claim.refuse(f"results in elements of {operand}, got {result}")
    before, after = _changed(claim, operand, result, at)
    if before == 0 or (before and after and after % before):
        claim.refuse(f"results in a multiple of {before} in axis {at}, got {result}")


def _changed(claim: OpView, operand: Tensor, result: Tensor, at: int) -> Shape:
    """Returns the extents of operand and result in axis `at`, where the other axes agree."""
    alike = len(result.shape) == len(operand.shape)
    if not alike or not shapes_agree(_without(operand, at), _without(result, at)):
        claim.refuse(f"results in the shape of {operand} but for axis {at}, got {result}")
    return operand.shape[at], result.shape[at]


def _without(type: Tensor, at: int) -> Shape:
    return (*type.shape[:at], *type.shape[at + 1 :])


def _all_reduce(claim: OpView) -> None:
    operands = _operands(claim)
    demand_groups(claim, uniform=False)
    demand_channel(claim, 1)
    _demand_reduced(claim, operands)


def _demand_reduced(claim: OpView, operands: list[Tensor]) -> None:
    """Refuses unless the body reduces each operand by itself, and the results are of its type."""
    (body,) = bodies(claim)
    elements = [_reduced(claim, body, operand) for operand in operands]
    pairs = zip(operands, elements, strict=True)
    demand_results(claim, tuple([operand._replace(element=name) for operand, name in pairs]))


def _reduced(claim: OpView, body: FunctionType, operand: Tensor) -> str:
    initial = Tensor((), operand.element)
    (returned,) = demand_reducer(claim, body, (operand,), (initial,))
    return returned.element


def _all_to_all(claim: OpView) -> None:
    operands = _operands(claim)
    count = positive(claim, "split_count")
    demand_groups(claim, uniform=True, size=count)
    demand_channel(claim)
    demand_results(claim, tuple([_exchanged(claim, operand, count) for operand in operands]))


def _exchanged(claim: OpView, operand: Tensor, count: int) -> Tensor:
    split = axis(claim, "split_dimension", len(operand.shape))
    joined = axis(claim, "concat_dimension", len(operand.shape))
    extent = operand.shape[split]
    if extent is not None and extent % count:
        claim.refuse(f"needs an axis {split} that {count} divides, got {operand}")
    shape, bounds = list(operand.shape), list(bounds_of(operand))
    for extents in (shape, bounds):
        parted = extents[split]
        extents[split] = None if parted is None else parted // count
        grown = extents[joined]
        extents[joined] = None if grown is None else grown * count
    return of_bounds(tuple(shape), operand.element, tuple(bounds))


def _reduce_scatter(claim: OpView) -> None:
    claim.takes(1)
    operand = holding(claim, claim.operands[0], "operand")
    result = holding(claim, claim.results[0], "result")
    demand_groups(claim, uniform=True)
    (body,) = bodies(claim)
    element = _reduced(claim, body, operand)
    at = axis(claim, "scatter_dimension", len(operand.shape))
    demand_channel(claim, 1)
    before, after = _changed(claim, operand, result, at)
    if before == 0 or after == 0 or (before and after and before % after):
        claim.refuse(f"results in a part of {before} in axis {at}, got {result}")
    if result.element != element:
        claim.refuse(f"results in elements of {element}, got {result}")


def _collective_broadcast(claim: OpView) -> None:
    operands = _operands(claim)
    demand_groups(claim, uniform=True, complete=False)
    demand_channel(claim)
    demand_results(claim, tuple(_without_root(claim, operands)))


def _collective_reduce(claim: OpView) -> None:
    operands = _operands(claim)
    demand_groups(claim, uniform=False)
    demand_channel(claim, 1)
    _demand_reduced(claim, _without_root(claim, operands))


def _without_root(claim: OpView, operands: list[Tensor]) -> list[Tensor]:
    """Returns the operands that hold data; the last one may state the root of each."""
    rooted = marked(claim, "has_dynamic_root")
    data = operands[:-1] if rooted else operands
    if not data:
        claim.refuse(f"needs 1 or more operands of data, got {len(data)}")
    if rooted:
        root = operands[-1]
        if root.element != "i32" or len(root.shape) != 1 or root.shape[0] != len(data):
            claim.refuse(f"needs a root of tensor<{len(data)}xi32>, got {root}")
    return data


def _collective_permute(claim: OpView) -> None:
    claim.takes(1)
    operand = holding(claim, claim.operands[0], "operand")
    demand_channel(claim)
    key = "source_target_pairs"
    shape, numbers = table(claim, key)
    if len(shape) != 2 or shape[1] != 2:
        claim.refuse(f"needs {key} of shape [N, 2], got {list(shape)}")
    if numbers and min(numbers) < 0:
        claim.refuse(f"needs {key} that are not negative, got {list(numbers)}")
    for name, ends in (("sources", numbers[::2]), ("targets", numbers[1::2])):
        if len(set(ends)) != len(ends):
            claim.refuse(f"needs distinct {name} in {key}, got {list(ends)}")
    demand_result(claim, operand)


def _cross_replica_sum(claim: OpView) -> None:
    claim.takes(1)
    operand = holding(claim, claim.operands[0], "operand")
    table(claim, "replica_groups")
    demand_result(claim, operand)


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.all_gather": _all_gather,
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_broadcast": _collective_broadcast,
    "stablehlo.collective_permute": _collective_permute,
    "stablehlo.collective_reduce": _collective_reduce,
    "stablehlo.cross-replica-sum": _cross_replica_sum,
    "stablehlo.reduce_scatter": _reduce_scatter,
}
