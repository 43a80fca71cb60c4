"""Operations that move elements and compute nothing."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, Operand, Result, define
from topos.stablehlo.dialect._demands import counted
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import (
    Shape,
    agree,
    bounds_of,
    merged,
    of_bounds,
    ranked,
    shapes_agree,
    size_of,
)
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Integer


@define("stablehlo.reshape")
class Reshape(Definition):
    """The elements of `operand`, in order, under another shape."""

    operand = Operand()
    result = Result()
    assembly = "$operand : functional-type"
    traits = Trait.MOVES | Trait.LAYOUT

    def infer(self) -> tuple[Type, ...]:
        operand, result = self.operand, placed(self)
        sizes = size_of(operand.shape), size_of(result.shape)
        counted = None in sizes or sizes[0] == sizes[1]
        if operand.element != result.element or not counted:
            self.refuse(f"cannot turn {operand} into {result}")
        return (result,)


@define("tensor.cast")
class Cast(Definition):
    """`operand` under a type that knows more or less of its shape."""

    traits = Trait.MOVES

    def verify(self) -> None:
        self.takes(1)
        (operand,), (result,) = self.operands, self.results
        if not agree(operand, result):
            self.refuse(f"cannot turn {operand} into {result}")

    def infer(self) -> tuple[Type, ...]:
        return self.results


@define("stablehlo.transpose")
class Transpose(Definition):
    """The axes of `operand` in the order of `permutation`."""

    operand = Operand()
    permutation = Axes()
    assembly = "$operand, dims = $permutation : functional-type"
    traits = Trait.MOVES | Trait.LAYOUT

    def infer(self) -> tuple[Type, ...]:
        operand = self.operand
        rank = len(operand.shape)
        order = self.axes("permutation", self.permutation, rank)
        if len(order) != rank:
            self.refuse(f"needs a permutation of {rank} axes, got {list(order)}")
        bounds = bounds_of(operand)
        shape = tuple([operand.shape[axis] for axis in order])
        return (of_bounds(shape, operand.element, tuple([bounds[axis] for axis in order])),)


@define("stablehlo.broadcast")
class Broadcast(Definition):
    """`operand` repeated along new leading axes of `broadcast_sizes`."""

    operand = Operand()
    broadcast_sizes = Axes()
    assembly = "$operand, sizes = $broadcast_sizes : functional-type"
    traits = Trait.MOVES | Trait.LAYOUT

    def infer(self) -> tuple[Type, ...]:
        operand, sizes = self.operand, self.broadcast_sizes
        if any(size < 0 for size in sizes):
            self.refuse(f"needs broadcast_sizes of 0 or more, got {list(sizes)}")
        bounds = (None,) * len(sizes) + bounds_of(operand)
        return (of_bounds(sizes + operand.shape, operand.element, bounds),)


@define("stablehlo.broadcast_in_dim")
class BroadcastInDim(Definition):
    """`operand` with axis i along axis `broadcast_dimensions[i]` of the result, repeated there."""

    operand = Operand()
    result = Result()
    broadcast_dimensions = Axes()
    assembly = "$operand, dims = $broadcast_dimensions : functional-type"
    traits = Trait.MOVES | Trait.LAYOUT

    def infer(self) -> tuple[Type, ...]:
        operand, result = self.operand, placed(self)
        axes = counted(self, "broadcast_dimensions", self.broadcast_dimensions, len(operand.shape))
        self.axes("broadcast_dimensions", axes, len(result.shape))
        pairs = zip(operand.shape, axes, strict=True)
        # The result knows all its extents, so a known extent must be there and not only agree.
        fits = all(extent in (None, 1, result.shape[axis]) for extent, axis in pairs)
        if not fits or operand.element != result.element:
            self.refuse(f"cannot broadcast {operand} along {list(axes)} to {result}")
        return (result,)


@define("stablehlo.reverse")
class Reverse(Definition):
    """`operand` with the elements along each of `dimensions` in reverse order."""

    operand = Operand()
    dimensions = Axes()
    assembly = "$operand, dims = $dimensions : same-type"
    traits = Trait.MOVES | Trait.LAYOUT

    def infer(self) -> tuple[Type, ...]:
        self.axes("dimensions", self.dimensions, len(self.operand.shape))
        return (self.operand,)


@define("stablehlo.concatenate")
class Concatenate(Definition):
    """The operands joined along the axis `dimension`."""

    first = Operand("operand")
    dimension = Integer(least=0)
    assembly = "$operands, dim = $dimension : functional-type"
    traits = Trait.MOVES
    operand_order = "values to join, one or more"

    def infer(self) -> tuple[Type, ...]:
        """Returns the extents that any operand knows, summed along the joined axis."""
        first = self.first
        tensors = [ranked(self, type, "operand") for type in self.operands]
        (along,) = self.axes("dimension", (self.dimension,), len(first.shape))
        for other in tensors:
            shapes = (_without(first.shape, along), _without(other.shape, along))
            ranks = len(other.shape) == len(first.shape)
            if other.element != first.element or not ranks or not shapes_agree(*shapes):
                self.refuse(f"cannot join {first} and {other} along {along}")
        opened = [tensor._replace(shape=_with(tensor.shape, along, None)) for tensor in tensors]
        joined = ranked(self, merged(self, opened, "operands"), "operands")
        total, bound = _total(tensors, along)
        bounds = _with(bounds_of(joined), along, bound)
        return (of_bounds(_with(joined.shape, along, total), first.element, bounds),)


@define("stablehlo.pad")
class Pad(Definition):
    """`operand` with `filler` before, after and between the elements of each axis."""

    operand = Operand()
    filler = Operand(is_scalar=True)
    edge_padding_low = Axes()
    edge_padding_high = Axes()
    interior_padding = Axes()
    assembly = (
        "$operands, low = $edge_padding_low, high = $edge_padding_high,"
        " interior = $interior_padding : functional-type"
    )
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        """Returns each extent with its padding; a negative one cuts elements off."""
        operand, filler, rank = self.operand, self.filler, len(self.operand.shape)
        if filler.element != operand.element:
            self.refuse(f"needs a filler of {operand.element}, got {filler}")
        low = counted(self, "edge_padding_low", self.edge_padding_low, rank)
        high = counted(self, "edge_padding_high", self.edge_padding_high, rank)
        interior = counted(self, "interior_padding", self.interior_padding, rank)
        if any(count < 0 for count in interior):
            self.refuse(f"needs interior_padding of 0 or more, got {list(interior)}")
        paddings = list(zip(low, high, interior, strict=True))
        shape = tuple(map(_padded, operand.shape, paddings))
        bounds = tuple(map(_padded, bounds_of(operand), paddings))
        if any(extent is not None and extent < 0 for extent in (*shape, *bounds)):
            self.refuse(f"needs extents of 0 or more, got {list(shape)} of {operand}")
        return (of_bounds(shape, operand.element, bounds),)


def placed(view: OpView) -> Tensor:
    """Returns the stated result, which is static but for at most one dimension with a bound."""
    if not view.results:
        view.refuse("needs the type of its result, which nothing else tells")
    result = ranked(view, view.results[0], "result")
    dynamic = [axis for axis, extent in enumerate(result.shape) if extent is None]
    bounds = bounds_of(result)
    if len(dynamic) > 1 or any(bounds[axis] is None for axis in dynamic):
        view.refuse(f"needs a static result, or one with a single bounded dimension, got {result}")
    return result


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


def _padded(extent: int | None, padding: tuple[int, int, int]) -> int | None:
    low, high, interior = padding
    return None if extent is None else low + extent + max(extent - 1, 0) * interior + high
