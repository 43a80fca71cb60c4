"""Rules of the operations that gather slices by index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from topos.stablehlo.dialect._numbers import (
    ascending,
    axes_below,
    distinct,
    integer_field,
    named_fields,
    packed,
    whole,
)
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import INTEGERS
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    bounds_of,
    demand_result,
    extents_agree,
    of_bounds,
    shapes_agree,
)

__all__ = ["RULES"]

_LISTS: Final = (
    "offset_dims",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
)


class _Numbers(NamedTuple):
    """The dimension numbers of a gather, named as in the specification."""

    index_vector_dim: int
    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The operand's axes that the slices do not keep."""
        return self.collapsed_slice_dims + self.operand_batching_dims


def _numbers(claim: OpView) -> _Numbers:
    key = "dimension_numbers"
    fields = named_fields(claim, key, "#stablehlo.gather<", (*_LISTS, "index_vector_dim"))
    lists = [claim.integers_of(fields.get(name, ()), name) for name in _LISTS]
    return _Numbers(integer_field(claim, fields, "index_vector_dim"), *lists)


def _gather(claim: OpView) -> None:
    claim.takes(2)
    operand = holding(claim, claim.operands[0], "operand")
    indices = holding(claim, claim.operands[1], "start_indices", INTEGERS)
    numbers = _numbers(claim)
    sizes = packed(claim, "slice_sizes")
    claim.truth("indices_are_sorted", False)
    _demand_numbers(claim, operand, indices, numbers, len(sizes))
    _demand_sizes(claim, operand, numbers, sizes)
    _demand_gathered(claim, operand, indices, numbers, sizes)


def _dynamic_gather(claim: OpView) -> None:
    claim.takes(3)
    operand = holding(claim, claim.operands[0], "operand")
    indices = holding(claim, claim.operands[1], "start_indices", INTEGERS)
    stated = holding(claim, claim.operands[2], "slice_sizes", INTEGERS)
    if len(stated.shape) != 1 or stated.shape[0] is None:
        claim.refuse(f"needs slice_sizes of one known extent, got {stated}")
    numbers = _numbers(claim)
    claim.truth("indices_are_sorted", False)
    _demand_numbers(claim, operand, indices, numbers, stated.shape[0])
    sizes: Shape = (None,) * len(operand.shape)
    array: Any = claim.constants[2]
    if array is not None:
        sizes = tuple(array.tolist())
        _demand_sizes(claim, operand, numbers, sizes)
    _demand_gathered(claim, operand, indices, numbers, sizes)


def _demand_numbers(
    claim: OpView, operand: Tensor, indices: Tensor, numbers: _Numbers, sizes: int
) -> None:
    rank = len(operand.shape)
    count = len(numbers.offset_dims) + len(numbers.dropped)
    if count != rank:
        counted = "offset_dims, collapsed_slice_dims and operand_batching_dims"
        claim.refuse(f"needs {rank} axes in {counted} together, got {count}")
    if not 0 <= numbers.index_vector_dim <= len(indices.shape):
        reach = f"from 0 to {len(indices.shape)}"
        claim.refuse(f"needs an index_vector_dim {reach}, got {numbers.index_vector_dim}")
    coordinates = (*indices.shape, 1)[numbers.index_vector_dim]
    if not extents_agree(coordinates, len(numbers.start_index_map)):
        mapped = list(numbers.start_index_map)
        claim.refuse(f"needs {coordinates} axes in start_index_map, got {mapped}")
    ascending(claim, numbers.offset_dims, "offset_dims")
    distinct(claim, numbers.offset_dims, "offset_dims")
    distinct(claim, numbers.dropped, "collapsed_slice_dims and operand_batching_dims")
    for name in ("collapsed_slice_dims", "operand_batching_dims"):
        ascending(claim, getattr(numbers, name), name)
        axes_below(claim, getattr(numbers, name), rank, name)
    _demand_batches(claim, operand, indices, numbers)
    mapped_axes = numbers.start_index_map + numbers.operand_batching_dims
    distinct(claim, mapped_axes, "start_index_map and operand_batching_dims")
    axes_below(claim, numbers.start_index_map, rank, "start_index_map")
    if sizes != rank:
        claim.refuse(f"needs {rank} slice_sizes, got {sizes}")


def _demand_batches(claim: OpView, operand: Tensor, indices: Tensor, numbers: _Numbers) -> None:
    batches, name = numbers.start_indices_batching_dims, "start_indices_batching_dims"
    distinct(claim, batches, name)
    axes_below(claim, batches, len(indices.shape), name)
    if numbers.index_vector_dim in batches:
        claim.refuse(f"needs {name} without the index_vector_dim {numbers.index_vector_dim}")
    if len(batches) != len(numbers.operand_batching_dims):
        count = len(numbers.operand_batching_dims)
        claim.refuse(f"needs as many {name} as operand_batching_dims, {count}, got {len(batches)}")
    for axis, other in zip(numbers.operand_batching_dims, batches, strict=True):
        if not extents_agree(operand.shape[axis], indices.shape[other]):
            got = f"{operand.shape[axis]} and {indices.shape[other]}"
            claim.refuse(f"needs the same extents of operand and indices as batches, got {got}")


def _demand_sizes(claim: OpView, operand: Tensor, numbers: _Numbers, sizes: Shape) -> None:
    for axis, size in enumerate(sizes):
        extent = operand.shape[axis]
        if size is None or size < 0 or (extent is not None and size > extent):
            claim.refuse(f"needs slice_sizes within {operand}, got {list(sizes)}")
        if axis in numbers.dropped and size > 1:
            claim.refuse(f"needs a slice size of 1 or less for the dropped axis {axis}, got {size}")


def _demand_gathered(
    claim: OpView, operand: Tensor, indices: Tensor, numbers: _Numbers, sizes: Shape
) -> None:
    """Refuses unless the result has the batch axes of the indices and the kept ones of a slice."""
    batches = [axis for axis in range(len(indices.shape)) if axis != numbers.index_vector_dim]
    rank = len(batches) + len(numbers.offset_dims)
    axes_below(claim, numbers.offset_dims, rank, "offset_dims")
    bounds = bounds_of(indices)
    offsets = iter([size for axis, size in enumerate(sizes) if axis not in numbers.dropped])
    rest = iter(batches)
    shape: list[int | None] = []
    limits: list[int | None] = []
    for axis in range(rank):
        offset = axis in numbers.offset_dims
        source = None if offset else next(rest)
        shape.append(next(offsets) if source is None else indices.shape[source])
        limits.append(None if source is None else bounds[source])
    demand_result(claim, of_bounds(tuple(shape), operand.element, tuple(limits)))


def _torch_index_select(claim: OpView) -> None:
    claim.takes(2)
    operand = holding(claim, claim.operands[0], "operand")
    indices = holding(claim, claim.operands[1], "index", INTEGERS)
    rank, batches = len(operand.shape), len(indices.shape)
    axis, batch = whole(claim, "dim"), whole(claim, "batch_dims")
    # As XLA reads them, both count from the end where they are negative.
    if not -rank <= axis < rank:
        claim.refuse(f"needs a dim from {-rank} to below {rank}, got {axis}")
    axis %= rank
    if not -batches <= batch <= batches:
        claim.refuse(f"needs batch_dims from {-batches} to {batches}, got {batch}")
    batch += batches if batch < 0 else 0
    if batch > axis:
        claim.refuse(f"needs batch_dims of at most the dim {axis}, got {batch}")
    if not shapes_agree(operand.shape[:batch], indices.shape[:batch]):
        claim.refuse(f"needs {batch} axes of one batch, got {operand} and {indices}")
    shape = (*operand.shape[:axis], *indices.shape[batch:], *operand.shape[axis + 1 :])
    demand_result(claim, Tensor(shape, operand.element))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.gather": _gather,
    "stablehlo.torch_index_select": _torch_index_select,
}
