"""What the formulas of this package share: the reading they are over, the wide element, guards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from operator import index
from typing import Final, SupportsIndex, TypeVar

from topos import Element, Recordable, Tensor, TensorType, bf16, f16, f32, f64
from topos.errors import ArgumentError, ElementError, ShapeError

R = TypeVar("R", bound=Recordable)
"""Any reading: a formula over it records on a tape and computes on tensors."""

# A moving average in a 16-bit format stands still: 0.999 is 1 in bf16.
WIDER: Final[Mapping[Element, Element]] = {f16: f32, bf16: f32}


def spread(features: R, shape: Sequence[int], axis: int) -> R:
    """Returns a number for each feature repeated to `shape`, whose `axis` counts features."""
    others = [place for place in range(len(shape)) if place != axis % len(shape)]
    return features.broadcast_along(others, [shape[place] for place in others])


def demand_reading(name: str, value: object) -> None:
    """Raises `ElementError` where `value` is neither a value of a tape nor a tensor."""
    if not isinstance(value, Recordable):
        raise ElementError(f"{name} needs a Value or a Tensor, got {given(value)}")


def given(value: object) -> str:
    """Returns what was given in the place of something else, for a message."""
    called = getattr(value, "__name__", None)
    if called is None:
        return type(value).__name__
    kind = "class" if isinstance(value, type) else "function"
    return f"the {kind} {called}, which was not called"


def is_number(value: object, least: float = -math.inf, below: float = math.inf) -> bool:
    """Returns whether `value` is a finite number from `least` to below `below`."""
    return isinstance(value, Real) and math.isfinite(value) and least <= float(value) < below


def demand_rank(name: str, value: Recordable, axes: str) -> None:
    """Raises `ShapeError` where `value` has not the axes that `axes` names, commas between."""
    demand_reading(name, value)
    if len(value.shape) != len(axes.split(", ")):
        raise ShapeError(f"{name} needs [{axes}], got {value.shape}")


def demand_features(name: str, value: Recordable, wanted: int, axis: int = -1) -> None:
    """Raises `ShapeError` where `axis` of `value` has not the extent `wanted`."""
    demand_reading(name, value)
    place = axis % len(value.shape) if axis < len(value.shape) and value.shape else -1
    if place < 0 or value.shape[place] != wanted:
        where = "a last axis" if axis == -1 else f"an axis {axis}"
        raise ShapeError(f"{name} needs {where} of {wanted}, got {value.shape}")


def demand_floating(name: str, value: Recordable) -> None:
    """Raises `ElementError` where the element of `value` does not differentiate."""
    demand_reading(name, value)
    if not value.element.differentiable:
        raise ElementError(f"{name} needs a floating element, got {value.element}")


def count(name: str, what: str, number: SupportsIndex, least: int = 1) -> int:
    """Returns `number` as an integer of `least` or more, or raises `ShapeError`."""
    try:
        whole = index(number)
    except TypeError:
        whole = least - 1
    if whole < least:
        raise ShapeError(f"{name} needs {what} of {least} or more, got {number!r}")
    return whole


def pair(
    name: str, what: str, sizes: SupportsIndex | Sequence[SupportsIndex], least: int = 1
) -> tuple[int, int]:
    """Returns the sizes along height and width: `sizes` themselves, or one number for both."""
    both = sizes if isinstance(sizes, Sequence) else (sizes, sizes)
    if len(both) != 2:
        raise ShapeError(f"{name} needs {what} of one number or two, got {sizes!r}")
    return count(name, what, both[0], least), count(name, what, both[1], least)


def positive(name: str, what: str, number: float) -> float:
    """Returns `number` as a float above zero, or raises `ArgumentError`."""
    if not is_number(number, 0.0) or not number:
        raise ArgumentError(f"{name} needs {what} above zero, finite, got {number!r}")
    return float(number)


def wide(element: Element) -> Element:
    """Returns the element that the arithmetic of training a parameter of `element` runs in."""
    return WIDER.get(element, element)


def widest(values: Iterable[Recordable]) -> Element:
    """Returns f64 where any of `values` is one, else f32: the element of what all share."""
    return f64 if any(value.element is f64 for value in values) else f32


def in_element(value: R, element: Element) -> R:
    """Returns `value` in `element`: itself where it is of that element already."""
    return value if value.element is element else value.convert(element)


def repeated(scalar: R, over: R) -> R:
    """Returns a rank-0 value in the element of `over`, and over its shape."""
    return in_element(scalar, over.element).broadcast(over.shape)


def zeros(type: TensorType) -> Tensor:
    """Returns what a slot holds beside a parameter of `type` before the first step."""
    return Tensor(0.0, wide(type.element)).broadcast(type.shape)
