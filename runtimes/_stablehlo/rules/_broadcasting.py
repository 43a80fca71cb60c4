"""Broadcasting of CHLO operands, by trailing axes or along named ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from topos.runtimes._stablehlo.claim import Claim
from topos.runtimes._stablehlo.rules._numbers import axes_below, distinct
from topos.runtimes._stablehlo.rules._shapes import Shape, TensorType
from topos.runtimes._stablehlo.syntax import Tensor, Unranked

__all__ = ["broadcast", "broadcast_along"]


def broadcast(claim: Claim, types: Sequence[TensorType], element: str) -> TensorType:
    """Returns the type that `types` are broadcast to, their axes aligned at the last one."""
    shapes = [type.shape for type in types if isinstance(type, Tensor)]
    if len(shapes) < len(types):
        return Unranked(element)
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    joined = reduce(lambda one, other: _joined(claim, types, one, other), padded)
    return Tensor(joined, element)


def _joined(claim: Claim, types: Sequence[TensorType], one: Shape, other: Shape) -> Shape:
    pairs = zip(one, other, strict=True)
    if any(None not in pair and 1 not in pair and pair[0] != pair[1] for pair in pairs):
        claim.refuse(f"cannot broadcast {', '.join(map(str, types))} together")
    return tuple(map(_extent, one, other))


def _extent(one: int | None, other: int | None) -> int | None:
    """Returns the extent of a joined axis; an unknown one is the other's, or stretches to it."""
    if one == 1 or one is None:
        return other if one == 1 or (other is not None and other > 1) else None
    return one


def broadcast_along(
    claim: Claim, left: TensorType, right: TensorType, axes: Sequence[int]
) -> TensorType:
    """Returns the type of the operand of higher rank, whose `axes` the other's stretch along."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return Unranked(left.element)
    small, large = sorted((left, right), key=lambda type: len(type.shape))
    if len(axes) != len(small.shape):
        needs = f"an axis for each of {small} in broadcast_dimensions"
        claim.refuse(f"needs {needs}, got {list(axes)}")
    axes_below(claim, axes, len(large.shape), "broadcast_dimensions")
    distinct(claim, axes, "broadcast_dimensions")
    shape = list(large.shape)
    met = tuple([large.shape[axis] for axis in axes])
    for axis, extent in zip(axes, _joined(claim, (left, right), small.shape, met), strict=True):
        shape[axis] = extent
    return Tensor(tuple(shape), left.element)
