"""Slices gathered by index."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, Operand, define
from topos.stablehlo.dialect._demands import (
    ascending,
    axes_below,
    completed,
    demand_indexing,
    distinct,
    known,
)
from topos.stablehlo.dimension_numbers import GATHER, GatherNumbers, Numbers
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.shapes import Shape, bounds_of, of_bounds, shapes_agree
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Integer, Truth
from topos.stablehlo.types import INTEGERS


class _Gathering(Definition):
    """A gather, whose slices have sizes that the text or an operand states."""

    operand = Operand()
    start_indices = Operand(elements=INTEGERS)
    dimension_numbers = Numbers(GATHER, GatherNumbers)
    indices_are_sorted = Truth()
    traits = Trait.MOVES

    def demand_numbers(self, sizes: int) -> None:
        """Refuses dimension numbers that do not fit the operands and `sizes` slice sizes."""
        numbers, rank = self.dimension_numbers, len(self.operand.shape)
        demand_indexing(self, numbers, self.operand.shape, self.start_indices.shape)
        ascending(self, numbers.offset_dims, "offset_dims")
        distinct(self, numbers.offset_dims, "offset_dims")
        if sizes != rank:
            self.refuse(f"needs {rank} slice_sizes, got {sizes}")

    def demand_sizes(self, sizes: Shape) -> None:
        """Refuses slices that do not lie in the operand."""
        operand, dropped = self.operand, self.dimension_numbers.dropped
        for axis, size in enumerate(sizes):
            extent = operand.shape[axis]
            if size is None or size < 0 or (extent is not None and size > extent):
                self.refuse(f"needs slice_sizes within {operand}, got {list(sizes)}")
            if axis in dropped and size > 1:
                reason = f"needs a slice size of 1 or less for the dropped axis {axis}"
                self.refuse(f"{reason}, got {size}")

    def gathered(self, sizes: Shape) -> Tensor:
        """Returns the type with the batch axes of the indices and the kept axes of a slice."""
        indices, numbers = self.start_indices, self.dimension_numbers
        batches = [axis for axis in range(len(indices.shape)) if axis != numbers.index_vector_dim]
        rank = len(batches) + len(numbers.offset_dims)
        axes_below(self, numbers.offset_dims, rank, "offset_dims")
        bounds = bounds_of(indices)
        offsets = iter([size for axis, size in enumerate(sizes) if axis not in numbers.dropped])
        rest = iter(batches)
        shape: list[int | None] = []
        limits: list[int | None] = []
        for axis in range(rank):
            source = None if axis in numbers.offset_dims else next(rest)
            shape.append(next(offsets) if source is None else indices.shape[source])
            limits.append(None if source is None else bounds[source])
        return of_bounds(tuple(shape), self.operand.element, tuple(limits))


@define("stablehlo.gather")
class Gather(_Gathering):
    """Slices of `operand` of `slice_sizes`, which start where `start_indices` say."""

    slice_sizes = Axes(strict=True)

    def infer(self) -> tuple[Type, ...]:
        sizes = self.slice_sizes
        self.demand_numbers(len(sizes))
        self.demand_sizes(sizes)
        return (self.gathered(sizes),)


@define("stablehlo.dynamic_gather")
class DynamicGather(_Gathering):
    """Slices of `operand`, which start where `start_indices` say; their sizes are an operand."""

    slice_sizes = Operand(elements=INTEGERS)

    def infer(self) -> tuple[Type, ...]:
        """Returns what a gather does; sizes that are no constant are those that are stated."""
        stated = self.slice_sizes
        if len(stated.shape) != 1 or stated.shape[0] is None:
            self.refuse(f"needs slice_sizes of one known extent, got {stated}")
        self.demand_numbers(stated.shape[0])
        sizes: Shape | None = known(self, 2)
        if sizes is None:
            sizes = (None,) * len(self.operand.shape)
        else:
            self.demand_sizes(sizes)
        return (completed(self, self.gathered(sizes)),)


@define("stablehlo.torch_index_select")
class TorchIndexSelect(Definition):
    """The slices of `operand` along the axis `dim` that `index` names, by batches."""

    operand = Operand()
    index = Operand(elements=INTEGERS)
    dim = Integer()
    batch_dims = Integer()
    traits = Trait.MOVES

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's extents with those of the index in place of the axis."""
        operand, indices = self.operand, self.index
        rank, batches = len(operand.shape), len(indices.shape)
        axis, batch = self.dim, self.batch_dims
        # As XLA reads them, both count from the end where they are negative.
        if not -rank <= axis < rank:
            self.refuse(f"needs a dim from {-rank} to below {rank}, got {axis}")
        axis %= rank
        if not -batches <= batch <= batches:
            self.refuse(f"needs batch_dims from {-batches} to {batches}, got {batch}")
        batch += batches if batch < 0 else 0
        if batch > axis:
            self.refuse(f"needs batch_dims of at most the dim {axis}, got {batch}")
        if not shapes_agree(operand.shape[:batch], indices.shape[:batch]):
            self.refuse(f"needs {batch} axes of one batch, got {operand} and {indices}")
        shape = (*operand.shape[:axis], *indices.shape[batch:], *operand.shape[axis + 1 :])
        return (Tensor(shape, operand.element),)
