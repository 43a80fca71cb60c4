"""Broadcasting of CHLO operands, by trailing axes or along named ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from topos.stablehlo.dialect._demands import axes_below, distinct
from topos.stablehlo.ir import Tensor, Unranked
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import TensorType, bounds_of, of_bounds

__all__ = ["broadcast", "broadcast_along"]

# The extent of an axis, and the bound of one that is dynamic and has one.
Axis = tuple[int | None, int | None]


def broadcast(view: OpView, types: Sequence[TensorType], element: str) -> TensorType:
    """Returns the type that `types` are broadcast to, their axes aligned at the last one."""
    ranked = [_axes(type) for type in types if isinstance(type, Tensor)]
    if len(ranked) < len(types):
        return Unranked(element)
    rank = max(map(len, ranked))
    padded = [[(1, None)] * (rank - len(axes)) + axes for axes in ranked]
    return _of_axes(reduce(lambda one, other: _joined(view, types, one, other), padded), element)


def broadcast_along(
    view: OpView, left: TensorType, right: TensorType, along: Sequence[int]
) -> TensorType:
    """Returns the type of the operand of higher rank, whose axes `along` the other's stretch."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return Unranked(left.element)
    small, large = sorted((left, right), key=lambda type: len(type.shape))
    if len(along) != len(small.shape):
        needs = f"an axis for each of {small} in broadcast_dimensions"
        view.refuse(f"needs {needs}, got {list(along)}")
    axes_below(view, along, len(large.shape), "broadcast_dimensions")
    distinct(view, along, "broadcast_dimensions")
    axes = _axes(large)
    joined = _joined(view, (small, large), _axes(small), [axes[index] for index in along])
    for index, axis in zip(along, joined, strict=True):
        axes[index] = axis
    return _of_axes(axes, left.element)


def _axes(type: Tensor) -> list[Axis]:
    return list(zip(type.shape, bounds_of(type), strict=True))


def _of_axes(axes: Sequence[Axis], element: str) -> Tensor:
    shape = tuple([extent for extent, _ in axes])
    return of_bounds(shape, element, tuple([bound for _, bound in axes]))


def _joined(
    view: OpView, types: Sequence[TensorType], one: Sequence[Axis], other: Sequence[Axis]
) -> list[Axis]:
    joined = [_axis(*pair) for pair in zip(one, other, strict=True)]
    if None in joined:
        view.refuse(f"cannot broadcast {', '.join(map(str, types))} together")
    return [axis for axis in joined if axis is not None]


def _axis(one: Axis, other: Axis) -> Axis | None:
    """Returns two axes joined, or `None`; an unknown one is as the other, or stretches to it."""
    if one == other or other[0] == 1:
        return one
    if one[0] == 1:
        return other
    if one[0] is not None and other[0] is not None:
        return None
    known = other[0] if one[0] is None else one[0]
    return (known if known and known > 1 else None), None
