"""The operations that slide a window: reduce_window and select_and_scatter."""

from __future__ import annotations

from math import prod

from topos.stablehlo.definition import Definition, Operand, define, elements_of
from topos.stablehlo.dialect._demands import counted, holding
from topos.stablehlo.dialect._reducers import (
    Reduction,
    bodies,
    demand_reducer,
    promotable,
    reduced,
    reducer_types,
    same_element,
)
from topos.stablehlo.dialect._windows import Padding, Window, slid, steps, windows_of
from topos.stablehlo.ir import FunctionType, Tensor, Type
from topos.stablehlo.rounding import OfBody
from topos.stablehlo.shapes import bounds_of, merged, of_bounds, shapes_agree
from topos.stablehlo.typed_attributes import Axes
from topos.stablehlo.types import PREDICATE


@define("stablehlo.reduce_window")
class ReduceWindow(Reduction):
    """Each window of the inputs reduced by a body, from the initial values."""

    window_dimensions = Axes(strict=True)
    window_strides = Axes(strict=True, default=())
    base_dilations = Axes(strict=True, default=())
    window_dilations = Axes(strict=True, default=())
    padding = Padding()

    def infer(self) -> tuple[Type, ...]:
        inputs, initials = reduced(self)
        (body,) = bodies(self)
        merged(self, inputs, "inputs")
        padding, rank = self.padding, len(inputs[0].shape)
        extents = counted(self, "window_dimensions", self.window_dimensions, rank)
        windows = windows_of(
            self,
            extents,
            padding,
            strides=steps(self, "window_strides", self.window_strides, rank),
            base_dilations=steps(self, "base_dilations", self.base_dilations, rank),
            dilations=steps(self, "window_dilations", self.window_dilations, rank),
        )
        returned = demand_reducer(self, body, inputs, initials, extents)
        count = len(inputs)
        return tuple(map(_slid_type, inputs, (windows,) * count, returned))

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each element of each window, padding included."""
        return prod(self.window_dimensions) * elements_of(self.results[:1])


def _slid_type(taken: Tensor, windows: tuple[Window, ...], accumulator: Tensor) -> Tensor:
    bounds = slid(bounds_of(taken), windows)
    return of_bounds(slid(taken.shape, windows), accumulator.element, bounds)


@define("stablehlo.select_and_scatter")
class SelectAndScatter(Definition):
    """The elements of `source` scattered to what is selected of each window of `operand`."""

    operand = Operand()
    source = Operand()
    initial = Operand("initial value")
    window_dimensions = Axes(strict=True, default=())
    window_strides = Axes(strict=True, default=())
    padding = Padding()
    rounding = OfBody()
    region_order = (
        "selection: takes two elements of the operand; returns whether the first one is kept",
        "body: takes what a place holds and an element of the source; returns what it holds then",
    )

    def infer(self) -> tuple[Type, ...]:
        operand, source, initial = self.operand, self.source, self.initial
        select, scatter = bodies(self)
        _demand_selector(self, select, operand)
        (returned,) = demand_reducer(self, scatter, (Tensor((), source.element),), (initial,))
        rank = len(operand.shape)
        extents = counted(self, "window_dimensions", self.window_dimensions, rank)
        windows = windows_of(
            self,
            extents,
            self.padding,
            strides=steps(self, "window_strides", self.window_strides, rank),
            base_dilations=(1,) * rank,
            dilations=(1,) * rank,
        )
        places = slid(operand.shape, windows)
        alike = same_element(operand.element, source.element)
        if not alike or not shapes_agree(places, source.shape):
            needs = Tensor(places, operand.element)
            self.refuse(f"needs a source of {needs}, got {source}")
        return (operand._replace(element=returned.element),)

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        selected, scattered = reducer_types((self.operand, self.source))
        if not promotable(self.initial.element, self.source.element):
            needs = f"{scattered} as the initial value of its source {self.source}"
            self.refuse(f"needs {needs}, got {self.initial}")
        return ((selected, selected), (scattered, scattered))

    def region_runs(self, region: int) -> int:
        """Returns one selection for each element of a window, one combination for each window."""
        windows = elements_of((self.source,))
        return windows if region else prod(self.window_dimensions) * windows


def _demand_selector(view: Definition, body: FunctionType, operand: Tensor) -> None:
    if len(body.operands) != 2:
        view.refuse(f"needs a selection of 2 arguments, got {len(body.operands)}")
    for type in body.operands:
        argument = holding(view, type, "an argument of the selection")
        if argument.shape or not same_element(argument.element, operand.element):
            needs = Tensor((), operand.element)
            view.refuse(f"needs a selection between {needs}, got {argument}")
    if len(body.results) != 1:
        view.refuse(f"needs a selection that returns 1 value, got {len(body.results)}")
    chosen = holding(view, body.results[0], "the selection's result", PREDICATE)
    if chosen.shape:
        view.refuse(f"needs a selection that returns tensor<i1>, got {chosen}")
