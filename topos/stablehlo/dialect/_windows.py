"""Windows that slide along the axes of a value: their padding and their arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from topos.stablehlo.dense import listed
from topos.stablehlo.ir import Dense, Tensor
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import Shape
from topos.stablehlo.typed_attributes import Attribute

Pairs = tuple[tuple[int, int], ...]


class Padding(Attribute[Pairs | None]):
    """Pairs of low and high padding as a dense constant of shape [N, 2]; `None` where absent."""

    takes = "a pair of low and high for each axis"
    example = "((1, 1), (0, 2))"

    def read(self, view: OpView) -> Pairs | None:
        if view.optional(self.key) is None:
            return None
        shape, numbers = view.table(self.key)
        if len(shape) != 2 or shape[1] != 2:
            view.refuse(f"needs a padding of shape [N, 2], got {list(shape)}")
        return tuple(zip(numbers[::2], numbers[1::2], strict=True))

    def made(self, value: Any) -> Any:
        pairs = [(index(low), index(high)) for low, high in value]
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return Dense(listed(array, "i64"), Tensor(array.shape, "i64"), 0, 0)


class Window(NamedTuple):
    """A window along one axis; an extent of `None` is dynamic."""

    extent: int | None
    stride: int
    padding: tuple[int, int]
    base_dilation: int
    dilation: int


def windows_of(
    view: OpView,
    extents: Shape,
    padding: Pairs | None,
    *,
    strides: tuple[int, ...],
    base_dilations: tuple[int, ...],
    dilations: tuple[int, ...],
) -> tuple[Window, ...]:
    """Returns one window an axis of `extents`; the last three are as `steps` returns them."""
    pairs = padding or ((0, 0),) * len(extents)
    demand_count(view, "padding", len(pairs), len(extents))
    if any(extent is not None and extent <= 0 for extent in extents):
        view.refuse(f"needs a positive window, got {list(extents)}")
    return tuple(map(Window, extents, strides, pairs, base_dilations, dilations))


def steps(view: OpView, key: str, values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Returns `values`, those of the attribute `key`, one an axis; none stand for ones."""
    if not values:
        return (1,) * count
    demand_count(view, key, len(values), count)
    if min(values) <= 0:
        view.refuse(f"needs positive {key}, got {list(values)}")
    return values


def demand_count(view: OpView, key: str, got: int, count: int) -> None:
    """Refuses an attribute that does not have one part an axis of the window."""
    if got != count:
        view.refuse(f"needs {key} for {count} axes of the window, got {got}")


def slid(extents: Sequence[int | None], windows: Sequence[Window]) -> Shape:
    """Returns how many places each window has along an axis of `extents`.

    With the specification's `dilate` and `pad`, that is
    `floor((pad(dilate(extent)) - dilate(window)) / stride) + 1`, or none where it does not fit.
    """
    return tuple(map(_places, extents, windows))


def _places(extent: int | None, window: Window) -> int | None:
    if extent is None or window.extent is None:
        return None
    padded = sum(window.padding) + _dilated(extent, window.base_dilation)
    room = padded - _dilated(window.extent, window.dilation)
    return 0 if padded <= 0 or room < 0 else room // window.stride + 1


def _dilated(extent: int, step: int) -> int:
    return (extent - 1) * step + 1 if extent else 0
