"""Rules of the operations that slide a window, and the arithmetic of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from topos.stablehlo.dialect._numbers import packed, table
from topos.stablehlo.dialect._reducers import bodies, demand_reducer, same_element
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import PREDICATE
from topos.stablehlo.ir import FunctionType, Packed, Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    bounds_of,
    demand_result,
    demand_results,
    merged,
    of_bounds,
    shapes_agree,
)

__all__ = ["RULES", "Pairs", "Window", "padding_of", "slid", "windows_of"]

Pairs = tuple[tuple[int, int], ...]


class Window(NamedTuple):
    """A window along one axis; an extent of `None` is dynamic."""

    extent: int | None
    stride: int
    padding: tuple[int, int]
    base_dilation: int
    dilation: int


def padding_of(claim: OpView) -> Pairs | None:
    """Returns a padding's pairs of low and high, or `None` where there is none."""
    if claim.optional("padding") is None:
        return None
    shape, numbers = table(claim, "padding")
    if len(shape) != 2 or shape[1] != 2:
        claim.refuse(f"needs a padding of shape [N, 2], got {list(shape)}")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def windows_of(
    claim: OpView,
    extents: Shape,
    padding: Pairs | None,
    *,
    base_dilations: str | None = None,
    dilations: str | None = None,
    reversal: str | None = None,
) -> tuple[Window, ...]:
    """Returns one window an axis of `extents`; the others are the keys of optional attributes."""
    count = len(extents)
    strides = _steps(claim, "window_strides", count)
    bases = _steps(claim, base_dilations, count)
    steps = _steps(claim, dilations, count)
    pairs = padding or ((0, 0),) * count
    _demand_count(claim, "padding", len(pairs), count)
    if reversal is not None:
        flags = claim.optional(reversal)
        if flags is not None and not (isinstance(flags, Packed) and flags.element == "i1"):
            claim.refuse(f"needs an array<i1: ...> as {reversal}, got {flags}")
        _demand_count(claim, reversal, len(flags) if flags else count, count)
    if any(extent is not None and extent <= 0 for extent in extents):
        claim.refuse(f"needs a positive window, got {list(extents)}")
    return tuple(map(Window, extents, strides, pairs, bases, steps))


def _steps(claim: OpView, key: str | None, count: int) -> tuple[int, ...]:
    steps = packed(claim, key, ()) if key is not None else ()
    if not steps:
        return (1,) * count
    assert key is not None
    _demand_count(claim, key, len(steps), count)
    if min(steps) <= 0:
        claim.refuse(f"needs positive {key}, got {list(steps)}")
    return steps


def _demand_count(claim: OpView, key: str, got: int, count: int) -> None:
    if got != count:
        claim.refuse(f"needs {key} for {count} axes of the window, got {got}")


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


def _reduce_window(claim: OpView) -> None:
    if not claim.operands or len(claim.operands) % 2:
        claim.refuse(f"needs as many initial values as inputs, got {len(claim.operands)} operands")
    count = len(claim.operands) // 2
    inputs = tuple([holding(claim, type, "an input") for type in claim.operands[:count]])
    initials = tuple([holding(claim, type, "an initial value") for type in claim.operands[count:]])
    (body,) = bodies(claim)
    merged(claim, inputs, "inputs")
    padding = padding_of(claim)
    extents = packed(claim, "window_dimensions")
    if len(extents) != len(inputs[0].shape):
        rank = len(inputs[0].shape)
        claim.refuse(f"needs {rank} window_dimensions, got {len(extents)}")
    windows = windows_of(
        claim, extents, padding, base_dilations="base_dilations", dilations="window_dilations"
    )
    returned = demand_reducer(claim, body, inputs, initials, extents)
    inferred = map(_slid_type, inputs, (windows,) * count, returned)
    demand_results(claim, tuple(inferred))


def _slid_type(taken: Tensor, windows: tuple[Window, ...], accumulator: Tensor) -> Tensor:
    bounds = slid(bounds_of(taken), windows)
    return of_bounds(slid(taken.shape, windows), accumulator.element, bounds)


def _select_and_scatter(claim: OpView) -> None:
    claim.takes(3)
    operand, source, initial = map(holding, (claim,) * 3, claim.operands, _SELECTED)
    select, scatter = bodies(claim, 2)
    _demand_selector(claim, select, operand)
    (returned,) = demand_reducer(claim, scatter, (Tensor((), source.element),), (initial,))
    extents = packed(claim, "window_dimensions", ())
    if len(extents) != len(operand.shape):
        claim.refuse(f"needs {len(operand.shape)} window_dimensions, got {len(extents)}")
    places = slid(operand.shape, windows_of(claim, extents, padding_of(claim)))
    if not same_element(operand.element, source.element) or not shapes_agree(places, source.shape):
        needs = Tensor(places, operand.element)
        claim.refuse(f"needs a source of {needs}, got {source}")
    demand_result(claim, operand._replace(element=returned.element))


_SELECTED: Final = ("operand", "source", "initial value")


def _demand_selector(claim: OpView, body: FunctionType, operand: Tensor) -> None:
    if len(body.operands) != 2:
        claim.refuse(f"needs a selection of 2 arguments, got {len(body.operands)}")
    for type in body.operands:
        argument = holding(claim, type, "an argument of the selection")
        if argument.shape or not same_element(argument.element, operand.element):
            needs = Tensor((), operand.element)
            claim.refuse(f"needs a selection between {needs}, got {argument}")
    if len(body.results) != 1:
        claim.refuse(f"needs a selection that returns 1 value, got {len(body.results)}")
    chosen = holding(claim, body.results[0], "the selection's result", PREDICATE)
    if chosen.shape:
        claim.refuse(f"needs a selection that returns tensor<i1>, got {chosen}")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.select_and_scatter": _select_and_scatter,
}
