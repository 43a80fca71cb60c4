"""Scatters on IREE, which writes wherever their indices point."""

from __future__ import annotations

from topos.errors import UnsupportedError
from topos.runtimes._plain_indices import plain_index
from topos.runtimes._scatter_margins import add_margins, windows
from topos.runtimes.iree.site import IndexSite

__all__ = ["keep_scatter_inside"]


def keep_scatter_inside(site: IndexSite) -> None:
    """Gives a scatter margins for what it drops, unless its text keeps all of it inside.

    Raises `UnsupportedError` for windows that may lie outside in part: IREE has no such scatter.
    """
    operation, count = site.operation, len(site.operation.results)
    indices, operand = operation.operands[count], operation.operands[0].type
    fields = site.fields("scatter_dimension_numbers")
    moved = fields.get("scatter_dims_to_operand_dims", ())
    if not moved or 0 in indices.type.shape:
        return
    window = windows(operation)
    slack = [operand.shape[axis] - window[axis] for axis in moved]
    if site.stays(indices, min(slack)):
        (vector,) = fields.get("index_vector_dim", (0,))
        operation.operands[count] = site.inside(indices, slack, vector)
        return
    if any(window[axis] > 1 for axis in moved):
        raise UnsupportedError("iree takes no scatter whose windows may overlap in part")
    plain_index(site.ir, operation, count)
    add_margins(site.ir, operation, {axis: window[axis] for axis in moved})
