"""The rule of scatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from topos.stablehlo.dialect._numbers import (
    ascending,
    axes_below,
    distinct,
    integer_field,
    named_fields,
)
from topos.stablehlo.dialect._reducers import bodies, demand_reducer
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import PREDICATE, SIZES
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    demand_results,
    extents_agree,
    merged,
)

__all__ = ["RULES"]

_LISTS: Final = (
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
)


class _Numbers(NamedTuple):
    """The dimension numbers of a scatter, named as in the specification."""

    index_vector_dim: int
    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The input's axes that a window of the updates does not have."""
        return self.inserted_window_dims + self.input_batching_dims


def _scatter(claim: OpView) -> None:
    count, odd = divmod(len(claim.operands), 2)
    if not count or not odd:
        got = len(claim.operands)
        claim.refuse(f"needs inputs, indices and as many updates as inputs, got {got} operands")
    inputs = [holding(claim, type, "inputs") for type in claim.operands[:count]]
    indices = holding(claim, claim.operands[count], "scatter_indices", SIZES | PREDICATE)
    updates = [holding(claim, type, "updates") for type in claim.operands[count + 1 :]]
    (body,) = bodies(claim)
    key = "scatter_dimension_numbers"
    fields = named_fields(claim, key, "#stablehlo.scatter<", (*_LISTS, "index_vector_dim"))
    lists = [claim.integers_of(fields.get(name, ()), name) for name in _LISTS]
    numbers = _Numbers(integer_field(claim, fields, "index_vector_dim"), *lists)
    claim.truth("indices_are_sorted", False)
    claim.truth("unique_indices", False)
    merged(claim, inputs, "inputs")
    merged(claim, updates, "updates")
    initials = [Tensor((), update.element) for update in updates]
    returned = demand_reducer(claim, body, inputs, initials)
    expanded = _expanded(claim, indices, numbers)
    _demand_numbers(claim, inputs[0], expanded, numbers)
    for taken, update in zip(inputs, updates, strict=True):
        _demand_updates(claim, taken, expanded, update, numbers)
    pairs = zip(inputs, returned, strict=True)
    demand_results(claim, tuple([taken._replace(element=each.element) for taken, each in pairs]))


def _expanded(claim: OpView, indices: Tensor, numbers: _Numbers) -> Shape:
    """Returns the shape of the indices with the axis of coordinates, which may be left out."""
    rank = len(indices.shape)
    if not 0 <= numbers.index_vector_dim <= rank:
        got = numbers.index_vector_dim
        claim.refuse(f"needs an index_vector_dim from 0 to {rank}, got {got}")
    return indices.shape if numbers.index_vector_dim < rank else (*indices.shape, 1)


def _demand_numbers(claim: OpView, taken: Tensor, expanded: Shape, numbers: _Numbers) -> None:
    rank = len(taken.shape)
    count = len(numbers.update_window_dims) + len(numbers.dropped)
    if count != rank:
        counted = "update_window_dims, inserted_window_dims and input_batching_dims"
        claim.refuse(f"needs {rank} axes in {counted} together, got {count}")
    distinct(claim, numbers.dropped, "inserted_window_dims and input_batching_dims")
    for name in ("inserted_window_dims", "input_batching_dims"):
        ascending(claim, getattr(numbers, name), name)
        axes_below(claim, getattr(numbers, name), rank, name)
    _demand_batches(claim, taken, expanded, numbers)
    mapped, name = numbers.scatter_dims_to_operand_dims, "scatter_dims_to_operand_dims"
    coordinates = expanded[numbers.index_vector_dim]
    if not extents_agree(coordinates, len(mapped)):
        claim.refuse(f"needs {coordinates} axes in {name}, got {list(mapped)}")
    distinct(claim, mapped + numbers.input_batching_dims, f"{name} and input_batching_dims")
    axes_below(claim, mapped, rank, name)


def _demand_batches(claim: OpView, taken: Tensor, expanded: Shape, numbers: _Numbers) -> None:
    batches, name = numbers.scatter_indices_batching_dims, "scatter_indices_batching_dims"
    distinct(claim, batches, name)
    axes_below(claim, batches, len(expanded), name)
    if numbers.index_vector_dim in batches:
        claim.refuse(f"needs {name} without the index_vector_dim {numbers.index_vector_dim}")
    if len(batches) != len(numbers.input_batching_dims):
        count = len(numbers.input_batching_dims)
        claim.refuse(f"needs as many {name} as input_batching_dims, {count}, got {len(batches)}")
    for axis, other in zip(numbers.input_batching_dims, batches, strict=True):
        if not extents_agree(taken.shape[axis], expanded[other]):
            got = f"{taken.shape[axis]} and {expanded[other]}"
            claim.refuse(f"needs the same extents of input and indices as batches, got {got}")


def _demand_updates(
    claim: OpView, taken: Tensor, expanded: Shape, update: Tensor, numbers: _Numbers
) -> None:
    """Refuses updates that have other axes than the windows and the batches of the indices."""
    windows, name = numbers.update_window_dims, "update_window_dims"
    rank = len(expanded) - 1 + len(windows)
    if len(update.shape) != rank:
        claim.refuse(f"needs updates of rank {rank}, got {update}")
    ascending(claim, windows, name)
    distinct(claim, windows, name)
    axes_below(claim, windows, rank, name)
    limits = [extent for axis, extent in enumerate(taken.shape) if axis not in numbers.dropped]
    for axis, limit in zip(windows, limits, strict=True):
        extent = update.shape[axis]
        if extent is not None and limit is not None and extent > limit:
            claim.refuse(f"needs windows of {limit} or less in axis {axis} of {update}")
    batches = [extent for axis, extent in enumerate(update.shape) if axis not in windows]
    at = numbers.index_vector_dim
    needed = (*expanded[:at], *expanded[at + 1 :])
    if not all(map(extents_agree, batches, needed)):
        claim.refuse(f"needs updates with the axes {list(needed)} of the indices, got {update}")


RULES: Final[Mapping[str, Rule]] = {"stablehlo.scatter": _scatter}
