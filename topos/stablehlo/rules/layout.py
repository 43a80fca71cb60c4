"""Rules of the operations that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.claim import Claim, Rule
from topos.stablehlo.ir import Tensor
from topos.stablehlo.rules._attributes import integers, natural
from topos.stablehlo.rules._elements import ANY, demand_element
from topos.stablehlo.rules._shapes import (
    Shape,
    agree,
    bounds_of,
    demand_result,
    merged,
    of_bounds,
    ranked,
    scalar,
    shapes_agree,
    size_of,
)

__all__ = ["RULES"]


def _operand(claim: Claim) -> Tensor:
    claim.takes(1)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, ANY)
    return operand


def _placed(claim: Claim) -> Tensor:
    """Returns the result, which is static but for at most one dimension that has a bound."""
    result = ranked(claim, claim.results[0], "result")
    dynamic = [axis for axis, extent in enumerate(result.shape) if extent is None]
    bounds = bounds_of(result)
    if len(dynamic) > 1 or any(bounds[axis] is None for axis in dynamic):
        claim.refuse(f"needs a static result, or one with a single bounded dimension, got {result}")
    return result


def _reshape(claim: Claim) -> None:
    operand, result = _operand(claim), _placed(claim)
    sizes = size_of(operand.shape), size_of(result.shape)
    counted = None in sizes or sizes[0] == sizes[1]
    if operand.element != result.element or not counted:
        claim.refuse(f"cannot turn {operand} into {result}")


def _cast(claim: Claim) -> None:
    claim.takes(1)
    (operand,), (result,) = claim.operands, claim.results
    if not agree(operand, result):
        claim.refuse(f"cannot turn {operand} into {result}")


def _transpose(claim: Claim) -> None:
    operand = _operand(claim)
    rank = len(operand.shape)
    order = claim.axes("permutation", claim.integers("permutation"), rank)
    if len(order) != rank:
        claim.refuse(f"needs a permutation of {rank} axes, got {list(order)}")
    bounds = bounds_of(operand)
    shape = tuple([operand.shape[axis] for axis in order])
    demand_result(claim, of_bounds(shape, operand.element, tuple([bounds[axis] for axis in order])))


def _broadcast(claim: Claim) -> None:
    operand = _operand(claim)
    sizes = claim.integers("broadcast_sizes")
    if any(size < 0 for size in sizes):
        claim.refuse(f"needs broadcast_sizes of 0 or more, got {list(sizes)}")
    bounds = (None,) * len(sizes) + bounds_of(operand)
    demand_result(claim, of_bounds(sizes + operand.shape, operand.element, bounds))


def _broadcast_in_dim(claim: Claim) -> None:
    operand, result = _operand(claim), _placed(claim)
    axes = integers(claim, "broadcast_dimensions", len(operand.shape))
    claim.axes("broadcast_dimensions", axes, len(result.shape))
    pairs = zip(operand.shape, axes, strict=True)
    # The result knows all its extents, so a known extent must be there and not only agree.
    fits = all(extent in (None, 1, result.shape[axis]) for extent, axis in pairs)
    if not fits or operand.element != result.element:
        claim.refuse(f"cannot broadcast {operand} along {list(axes)} to {result}")


def _reverse(claim: Claim) -> None:
    operand = _operand(claim)
    claim.axes("dimensions", claim.integers("dimensions"), len(operand.shape))
    demand_result(claim, operand)


def _concatenate(claim: Claim) -> None:
    if not claim.operands:
        claim.refuse("needs 1 operand or more, got 0")
    claim.takes(len(claim.operands))
    tensors = [ranked(claim, type, "operand") for type in claim.operands]
    first = tensors[0]
    demand_element(claim, first, ANY)
    (along,) = claim.axes("dimension", (natural(claim, "dimension"),), len(first.shape))
    for other in tensors:
        shapes = (_without(first.shape, along), _without(other.shape, along))
        ranks = len(other.shape) == len(first.shape)
        if other.element != first.element or not ranks or not shapes_agree(*shapes):
            claim.refuse(f"cannot join {first} and {other} along {along}")
    opened = [tensor._replace(shape=_with(tensor.shape, along, None)) for tensor in tensors]
    joined = ranked(claim, merged(claim, opened, "operands"), "operands")
    total, bound = _total(tensors, along)
    bounds = _with(bounds_of(joined), along, bound)
    demand_result(claim, of_bounds(_with(joined.shape, along, total), first.element, bounds))


def _total(tensors: list[Tensor], along: int) -> tuple[int | None, int | None]:
    """Returns the joined extent where all are known, and a bound where each has one."""
    extents = [tensor.shape[along] for tensor in tensors]
    known = [extent for extent in extents if extent is not None]
    if len(known) == len(extents):
        return sum(known), None
    bounds = [bounds_of(tensor)[along] for tensor in tensors]
    limits = [
        bound if extent is None else extent for extent, bound in zip(extents, bounds, strict=True)
    ]
    found = [limit for limit in limits if limit is not None]
    return None, sum(found) if len(found) == len(limits) else None


def _with(shape: Shape, axis: int, extent: int | None) -> Shape:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _pad(claim: Claim) -> None:
    claim.takes(2)
    operand = ranked(claim, claim.operands[0], "operand")
    demand_element(claim, operand, ANY)
    filler = scalar(claim, claim.operands[1], "filler")
    if filler.element != operand.element:
        claim.refuse(f"needs a filler of {operand.element}, got {filler}")
    rank = len(operand.shape)
    low = integers(claim, "edge_padding_low", rank)
    high = integers(claim, "edge_padding_high", rank)
    interior = integers(claim, "interior_padding", rank)
    if any(count < 0 for count in interior):
        claim.refuse(f"needs interior_padding of 0 or more, got {list(interior)}")
    paddings = list(zip(low, high, interior, strict=True))
    shape = tuple(map(_padded, operand.shape, paddings))
    bounds = tuple(map(_padded, bounds_of(operand), paddings))
    if any(extent is not None and extent < 0 for extent in (*shape, *bounds)):
        claim.refuse(f"needs extents of 0 or more, got {list(shape)} of {operand}")
    demand_result(claim, of_bounds(shape, operand.element, bounds))


def _padded(extent: int | None, padding: tuple[int, int, int]) -> int | None:
    low, high, interior = padding
    return None if extent is None else low + extent + max(extent - 1, 0) * interior + high


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.transpose": _transpose,
    "tensor.cast": _cast,
}
