"""The operations whose shapes come from operands, and those that read or set them."""

from __future__ import annotations

from math import prod
from typing import Final

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.dialect._demands import below, completed, counted, known, sized, static_sizes
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import Shape, bounds_of, extents_agree, of_bounds, ranked, size_of
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Integer
from topos.stablehlo.types import COMPLEX, FLOATS, INTEGERS, SIZES

_PADDINGS: Final = ((2, "low padding"), (3, "high padding"), (4, "interior padding"))


class _Moved(Definition):
    """An operation that keeps the element of its first operand."""

    operand = Operand()
    traits = Trait.MOVES

    def demand_element(self) -> None:
        """Refuses a stated result of another element."""
        for stated in self.results[:1]:
            result = ranked(self, stated, "result")
            if result.element != self.operand.element:
                self.refuse(f"needs a result of {self.operand.element}, got {result}")


@define("stablehlo.dynamic_broadcast_in_dim")
class DynamicBroadcastInDim(_Moved):
    """`operand` with axis i along axis `broadcast_dimensions[i]` of the shape that is an operand.

    Those of `known_expanding_dimensions` have one element, those of the other hint never grow.
    """

    output_dimensions = Operand(elements=SIZES)
    broadcast_dimensions = Axes()
    known_expanding_dimensions = Axes(default=())
    known_nonexpanding_dimensions = Axes(default=())
    assembly = "$operands, dims = $broadcast_dimensions : functional-type"

    def infer(self) -> tuple[Type, ...]:
        self.demand_element()
        operand = self.operand
        axes = counted(self, "broadcast_dimensions", self.broadcast_dimensions, len(operand.shape))
        result = sized(self, 1, operand.element, "output_dimensions")
        self.axes("broadcast_dimensions", axes, len(result.shape))
        values = known(self, 1)
        for extent, along in zip(operand.shape, axes, strict=True):
            stated = (result.shape[along], None if values is None else values[along])
            if extent != 1 and not all(extents_agree(extent, other) for other in stated):
                shown = self.results[0] if self.results else result
                self.refuse(f"cannot broadcast {operand} along {list(axes)} to {shown}")
        hints = self.known_expanding_dimensions + self.known_nonexpanding_dimensions
        self.axes("known dimensions", hints, len(operand.shape))
        return (result,)


@define("stablehlo.dynamic_reshape")
class DynamicReshape(_Moved):
    """The elements of `operand`, in order, under the shape that is an operand."""

    output_shape = Operand(elements=SIZES)
    assembly = "$operands : functional-type"

    def infer(self) -> tuple[Type, ...]:
        self.demand_element()
        operand, result = self.operand, sized(self, 1, self.operand.element, "output_shape")
        values = known(self, 1)
        counts = {size_of(operand.shape), size_of(result.shape), values and prod(values)} - {None}
        if len(counts) > 1:
            self.refuse(f"cannot turn {operand} into {self.results[0] if self.results else result}")
        return (result,)


@define("stablehlo.dynamic_iota")
class DynamicIota(Definition):
    """The indices along the axis `iota_dimension` of the shape that is an operand."""

    output_shape = Operand(elements=SIZES)
    result = Result(elements=INTEGERS | FLOATS | COMPLEX)
    iota_dimension = Integer(least=0)
    assembly = "$operands, dim = $iota_dimension : functional-type"
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        result = self.result
        self.axes("dimension", (self.iota_dimension,), len(result.shape))
        return (sized(self, 0, result.element, "output_shape"),)


@define("stablehlo.dynamic_pad")
class DynamicPad(_Moved):
    """`operand` with `filler` before, after and between elements, as many as operands say."""

    filler = Operand(is_scalar=True)
    edge_padding_low = Operand("low padding", SIZES)
    edge_padding_high = Operand("high padding", SIZES)
    interior_padding = Operand("interior padding", SIZES)
    assembly = "$operands : functional-type"

    def infer(self) -> tuple[Type, ...]:
        """Returns each extent with a padding that is constant, else the stated one."""
        self.demand_element()
        operand, filler, rank = self.operand, self.filler, len(self.operand.shape)
        if filler.element != operand.element:
            self.refuse(f"needs a filler of {operand.element}, got {filler}")
        for index, what in _PADDINGS:
            count = static_sizes(self, index, what)
            if count != rank:
                self.refuse(f"needs {rank} numbers as {what}, got {count}")
            if self.operands[index] != self.operands[2]:
                self.refuse(f"needs {what} as {self.operands[2]}, got {self.operands[index]}")
        for stated in self.results[:1]:
            if len(ranked(self, stated, "result").shape) != rank:
                self.refuse(f"needs a result of rank {rank}, got {stated}")
        return (completed(self, Tensor(self._padded(), operand.element)),)

    def _padded(self) -> Shape:
        shape = self.operand.shape
        low, high, interior = (known(self, index) for index, _ in _PADDINGS)
        if interior is not None and any(count < 0 for count in interior):
            self.refuse(f"needs interior padding of 0 or more, got {list(interior)}")
        if low is None or high is None or interior is None:
            return (None,) * len(shape)
        padded = tuple(
            None if extent is None else before + extent + max(extent - 1, 0) * between + after
            for extent, before, after, between in zip(shape, low, high, interior, strict=True)
        )
        if any(extent is not None and extent < 0 for extent in padded):
            self.refuse(f"needs extents of 0 or more, got {list(padded)} of {self.operand}")
        return padded


@define("stablehlo.get_dimension_size")
class GetDimensionSize(Definition):
    """The extent of `operand` along the axis `dimension`."""

    operand = Operand()
    dimension = Integer(least=0)
    assembly = "$operand, dim = $dimension : functional-type"
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        below(self, "dimension", self.dimension, len(self.operand.shape))
        return (Tensor((), "i32"),)


@define("stablehlo.set_dimension_size")
class SetDimensionSize(Definition):
    """`operand` of which only `size` elements along the axis `dimension` count."""

    operand = Operand()
    size = Operand(is_scalar=True)
    dimension = Integer(least=0)
    assembly = "$operands, dim = $dimension : functional-type"
    rounding = EXACT

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type, dynamic along the axis and bounded by its extent."""
        operand, size = self.operand, self.size
        if size.element != "i32":
            self.refuse(f"needs a size of i32, got {size}")
        along = below(self, "dimension", self.dimension, len(operand.shape))
        values = known(self, 1)
        shape, bounds = list(operand.shape), list(bounds_of(operand))
        if shape[along] is not None:
            bounds[along] = shape[along]
        # A size that is the bound itself makes the dimension static again.
        whole = values is not None and values[0] == bounds[along]
        shape[along] = bounds[along] if whole else None
        inferred = of_bounds(tuple(shape), operand.element, tuple(bounds))
        if values is None or values[0] < 0:
            return (completed(self, inferred),)
        shape[along], bounds[along] = values[0], None
        return (completed(self, inferred, of_bounds(tuple(shape), operand.element, tuple(bounds))),)
