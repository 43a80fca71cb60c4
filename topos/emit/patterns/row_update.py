"""The row update as a slice that is updated at a computed place, which a runtime does in place."""

from __future__ import annotations

from collections.abc import Sequence

from topos.emit.text import integers
from topos.emit.writer import Site, Ssa
from topos.engine.catalog.row_update import RowUpdate
from topos.payload import TensorType, bool_


def refusal(form: RowUpdate, types: Sequence[TensorType]) -> str:
    """Returns why an empty value has no row to update."""
    return "dynamic_update_slice needs a value that is not empty" if 0 in types[0].shape else ""


def update(form: RowUpdate, site: Site) -> Ssa:
    """Writes the update; beside the axis, where StableHLO clamps, the old row is written again."""
    value, row, place = site.operands
    shape, index = value.type.shape, place.type
    first = site.constant("0", index)
    last = site.constant(str(shape[form.axis] - 1), index)
    at = site.apply("stablehlo.clamp", (first, place, last), index)
    starts = [at if axis == form.axis else first for axis in range(len(shape))]
    sizes = tuple(1 if axis == form.axis else extent for axis, extent in enumerate(shape))
    type = TensorType(sizes, value.type.element)
    before = site.apply(
        "stablehlo.dynamic_slice", (value, *starts), type, f", sizes = {integers(sizes)}"
    )
    new = site.apply("stablehlo.reshape", (row,), type)
    within = site.apply("stablehlo.compare EQ,", (at, place), TensorType((), bool_))
    chosen = site.apply("stablehlo.select", (within, new, before), type)
    return site.apply("stablehlo.dynamic_update_slice", (value, chosen, *starts), value.type)
