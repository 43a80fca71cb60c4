"""Rules of slices, at places that the text states and at places that a run decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._attributes import integers
from topos.stablehlo.dialect._sizes import demand_indices, known, static_sizes
from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import bounds_of, demand_result, ranked

__all__ = ["RULES"]


def _operand(claim: OpView) -> Tensor:
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, ANY)
    return operand


def _slice(claim: OpView) -> None:
    claim.takes(1)
    operand = _operand(claim)
    rank = len(operand.shape)
    starts, limits, strides = (
        integers(claim, key, rank) for key in ("start_indices", "limit_indices", "strides")
    )
    ranges = list(zip(starts, limits, strides, strict=True))
    for (start, limit, stride), extent, bound in zip(
        ranges, operand.shape, bounds_of(operand), strict=True
    ):
        last = bound if extent is None else extent
        inside = 0 <= start <= limit and (last is None or limit <= last)
        if not inside or stride < 1:
            claim.refuse(f"needs ranges inside {operand}, got {start}:{limit}:{stride}")
    shape = tuple([-((start - limit) // stride) for start, limit, stride in ranges])
    demand_result(claim, Tensor(shape, operand.element))


def _dynamic_slice(claim: OpView) -> None:
    claim.takes(max(len(claim.operands), 1))
    operand = _operand(claim)
    rank = len(operand.shape)
    demand_indices(claim, 1, rank)
    extents = integers(claim, "slice_sizes", rank)
    for size, extent in zip(extents, operand.shape, strict=True):
        if size < 0 or (extent is not None and size > extent):
            claim.refuse(f"needs slice_sizes inside {operand}, got {list(extents)}")
    demand_result(claim, Tensor(extents, operand.element))


def _dynamic_update_slice(claim: OpView) -> None:
    claim.takes(max(len(claim.operands), 2))
    operand, update = _operand(claim), ranked(claim, claim.operands[1], "update")
    demand_indices(claim, 2, len(operand.shape))
    fits = len(update.shape) == len(operand.shape) and all(
        part is None or extent is None or part <= extent
        for part, extent in zip(update.shape, operand.shape, strict=True)
    )
    if update.element != operand.element or not fits:
        claim.refuse(f"needs an update that fits into {operand}, got {update}")
    demand_result(claim, operand)


def _real_dynamic_slice(claim: OpView) -> None:
    claim.takes(4)
    operand, result = _operand(claim), ranked(claim, claim.results[0], "result")
    rank = len(operand.shape)
    for index, what in ((1, "start_indices"), (2, "limit_indices"), (3, "strides")):
        count = static_sizes(claim, index, what)
        if claim.operands[index] != claim.operands[1]:
            claim.refuse(f"needs {what} as {claim.operands[1]}, got {claim.operands[index]}")
        if count != rank:
            claim.refuse(f"needs {rank} numbers as {what}, got {count}")
    strides = known(claim, 3)
    if strides is not None and any(stride < 1 for stride in strides):
        claim.refuse(f"needs strides of 1 or more, got {list(strides)}")
    if result.element != operand.element or len(result.shape) != rank:
        claim.refuse(f"cannot slice {operand} to {result}")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.slice": _slice,
}
