"""Updates scattered by index."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, define, elements_of
from topos.stablehlo.dialect._demands import (
    ascending,
    axes_below,
    demand_indexing,
    distinct,
    holding,
)
from topos.stablehlo.dialect._reducers import (
    bodies,
    demand_reducer,
    differing,
    reducer_types,
    same_element,
)
from topos.stablehlo.dimension_numbers import SCATTER, Numbers, ScatterNumbers
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.rounding import OfBody
from topos.stablehlo.shapes import Shape, extents_agree, merged
from topos.stablehlo.typed_attributes import Truth
from topos.stablehlo.types import PREDICATE, SIZES


@define("stablehlo.scatter")
class Scatter(Definition):
    """Inputs with updates combined into the windows that the indices point to, by a body."""

    scatter_dimension_numbers = Numbers(SCATTER, ScatterNumbers)
    indices_are_sorted = Truth()
    unique_indices = Truth()
    rounding = OfBody()
    operand_order = "inputs, then indices, then updates for each input"
    region_order = ("body: takes an element of each input, then of its updates; returns elements",)

    def infer(self) -> tuple[Type, ...]:
        inputs, indices, updates = self._parts()
        (body,) = bodies(self)
        numbers = self.scatter_dimension_numbers
        merged(self, inputs, "inputs")
        merged(self, updates, "updates")
        initials = [Tensor((), update.element) for update in updates]
        returned = demand_reducer(self, body, inputs, initials)
        expanded = demand_indexing(self, numbers, inputs[0].shape, indices.shape)
        for taken, update in zip(inputs, updates, strict=True):
            self._demand_updates(taken, expanded, update)
        pairs = zip(inputs, returned, strict=True)
        return tuple([taken._replace(element=each.element) for taken, each in pairs])

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        inputs, _, updates = self._parts()
        for taken, update in zip(inputs, updates, strict=True):
            if not same_element(taken.element, update.element):
                self.refuse(f"needs updates of {taken.element} for its input {taken}, got {update}")
        return (reducer_types((*inputs, *updates)),)

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each element of an update."""
        _, _, updates = self._parts()
        return elements_of((updates[0],))

    def body_note(self) -> str:
        inputs, _, updates = self._parts()
        return differing(self, "the updates", updates, inputs)

    def _parts(self) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        count, odd = divmod(len(self.operands), 2)
        if not count or not odd:
            got = len(self.operands)
            self.refuse(f"needs inputs, indices and as many updates as inputs, got {got} operands")
        inputs = [holding(self, type, "inputs") for type in self.operands[:count]]
        indices = holding(self, self.operands[count], "scatter_indices", SIZES | PREDICATE)
        updates = [holding(self, type, "updates") for type in self.operands[count + 1 :]]
        return inputs, indices, updates

    def _demand_updates(self, taken: Tensor, expanded: Shape, update: Tensor) -> None:
        """Refuses updates that have other axes than the windows and the batches of the indices."""
        numbers = self.scatter_dimension_numbers
        windows, name = numbers.update_window_dims, "update_window_dims"
        rank = len(expanded) - 1 + len(windows)
        if len(update.shape) != rank:
            self.refuse(f"needs updates of rank {rank}, got {update}")
        ascending(self, windows, name)
        distinct(self, windows, name)
        axes_below(self, windows, rank, name)
        limits = [extent for axis, extent in enumerate(taken.shape) if axis not in numbers.dropped]
        for axis, limit in zip(windows, limits, strict=True):
            extent = update.shape[axis]
            if extent is not None and limit is not None and extent > limit:
                self.refuse(f"needs windows of {limit} or less in axis {axis} of {update}")
        batches = [extent for axis, extent in enumerate(update.shape) if axis not in windows]
        at = numbers.index_vector_dim
        needed = (*expanded[:at], *expanded[at + 1 :])
        if not all(map(extents_agree, batches, needed)):
            self.refuse(f"needs updates with the axes {list(needed)} of the indices, got {update}")
