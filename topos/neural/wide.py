"""The wide element: what the arithmetic of training runs in, beside what a parameter is kept in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from topos import Element, Recordable, Tensor, TensorType, bf16, f16, f32, f64

__all__ = ["in_element", "spread", "wide", "widest", "zeros"]

R = TypeVar("R", bound=Recordable)

# A moving average in a 16-bit format stands still: 0.999 is 1 in bf16.
WIDER: Final[Mapping[Element, Element]] = {f16: f32, bf16: f32}


def wide(element: Element) -> Element:
    """Returns the element that the arithmetic of training a parameter of `element` runs in."""
    return WIDER.get(element, element)


def widest(values: Iterable[Recordable]) -> Element:
    """Returns f64 where any of `values` is one, else f32: the element of what all share."""
    return f64 if any(value.element is f64 for value in values) else f32


def in_element(value: R, element: Element) -> R:
    """Returns `value` in `element`: itself where it is of that element already."""
    return value if value.element is element else value.convert(element)


def spread(scalar: R, over: R) -> R:
    """Returns a rank-0 value in the element of `over`, and over its shape."""
    return in_element(scalar, over.element).broadcast(over.shape)


def zeros(type: TensorType) -> Tensor:
    """Returns what a slot holds beside a parameter of `type` before the first step."""
    return Tensor(0.0, wide(type.element)).broadcast(type.shape)
