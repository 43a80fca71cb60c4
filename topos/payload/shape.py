"""Shapes: the extent of a tensor along each axis, outermost first."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Final, SupportsIndex

from topos.errors import ShapeError

Shape = tuple[int, ...]

# What numpy can address.
MOST_AXES: Final = 64
MOST_BYTES: Final = 2**62


def shape_of(extents: SupportsIndex | Sequence[SupportsIndex]) -> Shape:
    """Returns `extents` as a shape; raises `ShapeError` where one is negative or no integer."""
    parts = extents if isinstance(extents, Sequence) else (extents,)
    try:
        shape = tuple(operator.index(extent) for extent in parts)
    except TypeError:
        raise ShapeError(f"a shape needs integers, got {extents!r}") from None
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"a shape needs extents of zero or more, none inferred, got {shape}")
    return shape


def demand_possible(operation: str, shape: Shape, itemsize: int) -> None:
    """Raises `ShapeError` where no array can have `shape`, by its rank or its bytes."""
    if len(shape) > MOST_AXES or math.prod(shape) * itemsize > MOST_BYTES:
        raise ShapeError(
            f"{operation} needs {MOST_AXES} axes and 2**62 bytes at most, got shape {shape}"
        )


def integers(operation: str, numbers: Sequence[SupportsIndex]) -> tuple[int, ...]:
    """Returns the static parameters `numbers` of an operation; raises `ShapeError` for others."""
    try:
        return tuple(operator.index(number) for number in numbers)
    except TypeError:
        raise ShapeError(f"{operation} needs integers, got {numbers!r}") from None


def size(shape: Shape) -> int:
    """Returns the number of elements that a tensor of `shape` holds."""
    return math.prod(shape)


def axis_of(operation: str, axis: SupportsIndex, rank: int) -> int:
    """Returns `axis` counted from the front; negative axes count from the back."""
    try:
        position = operator.index(axis)
    except TypeError:
        raise ShapeError(f"{operation} needs an integer axis, got {axis!r}") from None
    if not -rank <= position < rank:
        raise ShapeError(f"{operation} needs an axis of a rank-{rank} value, got axis {position}")
    return position % rank


def axes_of(
    operation: str, axes: SupportsIndex | Sequence[SupportsIndex] | None, rank: int
) -> tuple[int, ...]:
    """Returns `axes` ascending and counted from the front; `None` is every axis."""
    if axes is None:
        return tuple(range(rank))
    parts = axes if isinstance(axes, Sequence) else (axes,)
    positions = tuple(sorted(axis_of(operation, axis, rank) for axis in parts))
    if len(set(positions)) != len(positions):
        raise ShapeError(f"{operation} needs distinct axes, got {tuple(parts)}")
    return positions


def without(shape: Shape, axes: Sequence[int]) -> Shape:
    """Returns `shape` less the extents at `axes`."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
