"""Scatters that write to a copy with a margin: what StableHLO drops lands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from topos.errors import UnsupportedError
from topos.runtimes._iree_site import IndexSite
from topos.runtimes._iree_writer import Writer
from topos.runtimes._mlir import Binding

__all__ = ["keep_scatter_inside"]


def keep_scatter_inside(site: IndexSite) -> None:
    """Gives a scatter a margin for what it drops, unless its text keeps all of it inside.

    Raises `UnsupportedError` for windows that may lie outside in part: IREE has no such scatter.
    """
    operation, count = site.operation, len(site.operation.results)
    indices, operand = operation.operands[count], operation.operands[0].type
    fields = site.fields("scatter_dimension_numbers")
    moved = fields.get("scatter_dims_to_operand_dims", ())
    window = _window(fields, operand.rank, operation.operands[count + 1].type.shape)
    extents = [operand.shape[axis] for axis in moved]
    slack = [operand.shape[axis] - window[axis] for axis in moved]
    if not moved or 0 in indices.type.shape or site.stays(indices, min(slack)):
        return
    if any(window[axis] > 1 for axis in moved):
        raise UnsupportedError("iree takes no scatter whose windows may overlap in part")
    (vector,) = fields.get("index_vector_dim", (0,))
    operation.operands[count] = _into_margin(site, indices, extents, vector)
    # What is dropped goes behind the last place, from wherever it was.
    operation.attributes["indices_are_sorted"] = site.ir.BoolAttr.get(False)
    for place in range(count):
        _widen(site, place, set(moved))


def _into_margin(site: IndexSite, indices: Binding, extents: Sequence[int], vector: int) -> Binding:
    """Returns the indices in the widened operand: what lies outside goes behind the last place."""
    writer, largest, type = Writer(site.ir, site.operation), site.largest(indices), indices.type
    ends = writer.along([min(each, largest) for each in extents], type, vector)
    # First in the indices' own type, for an unsigned one may be too large for any signed.
    capped = writer.write("minimum", type, [indices, ends])
    wide = largest > 2**31 or max(extents) >= 2**31
    start = writer.converted(capped, site.ir.IntegerType.get_signless(64 if wide else 32))
    first = writer.along([0] * len(extents), start.type, vector)
    behind = writer.along(extents, start.type, vector)
    valid = writer.compared("GE", start, first)
    return writer.write("select", start.type, [valid, start, behind])


def _widen(site: IndexSite, place: int, moved: set[int]) -> None:
    """Gives an operand one more place along each axis of `moved`, which the result loses again."""
    operation, type = site.operation, site.operation.operands[place].type
    none = (0,) * type.rank
    margin = tuple(int(axis in moved) for axis in range(type.rank))
    before = Writer(site.ir, operation)
    shape = [extent + more for extent, more in zip(type.shape, margin, strict=True)]
    wide = before.tensor(shape, type.element_type)
    operation.operands[place] = before.write(
        "pad",
        wide,
        [operation.operands[place], before.zero(type.element_type)],
        edge_padding_low=none,
        edge_padding_high=margin,
        interior_padding=none,
    )
    result = operation.results[place]
    result.set_type(wide)
    cut = Writer(site.ir, operation, after=True).write(
        "slice",
        type,
        [result],
        start_indices=none,
        limit_indices=tuple(type.shape),
        strides=(1,) * type.rank,
    )
    result.replace_all_uses_except(cut, cut.owner.operation)


def _window(
    fields: Mapping[str, tuple[int, ...]], rank: int, update: Sequence[int]
) -> dict[int, int]:
    """Returns the size of a window of `update` along each axis of the operand."""
    flat = {*fields.get("inserted_window_dims", ()), *fields.get("input_batching_dims", ())}
    sizes = iter([update[axis] for axis in fields.get("update_window_dims", ())])
    return {axis: 1 if axis in flat else next(sizes) for axis in range(rank)}
