"""Indices kept inside what they index: IREE itself reads and writes wherever they point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._intervals import Intervals
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import operations_of
from topos.runtimes.iree.scatter import keep_scatter_inside
from topos.runtimes.iree.site import IndexSite, require_static

__all__ = ["keep_inside"]

DIALECTS: Final = frozenset({"builtin", "chlo", "func", "stablehlo"})
SLICE: Final = "stablehlo.dynamic_slice"


def keep_inside(ir: Binding, module: Binding) -> None:
    """Rewrites gathers and scatters of `module` so that they heed StableHLO's bounds.

    A gather's start indices are clamped, and so are those of a torch_index_select, as XLA does.
    A scatter goes to a copy of its operand with a margin that takes what the specification drops.
    What a text already bounds, by a clamp or a constant, stays as it is. Unsigned indices become
    signed ones, as which IREE reads all. Raises `UnsupportedError`
    for a dialect whose operations could index in ways of their own, for a dynamic_gather whose
    slice sizes are no constant, for a scatter of windows that overlap in part, and where a shape
    that matters is dynamic.
    """
    intervals = Intervals(ir)
    for operation in operations_of(ir, module):
        if operation.name.partition(".")[0] not in DIALECTS:
            raise UnsupportedError(f"iree takes StableHLO and CHLO, got {operation.name}")
        rule = RULES.get(operation.name)
        if rule is not None:
            require_static(operation)
            rule(IndexSite(ir, operation, intervals))


def _gather(site: IndexSite) -> None:
    sizes = tuple(site.ir.DenseI64ArrayAttr(site.operation.attributes["slice_sizes"]))
    _clamp_starts(site, sizes)


def _dynamic_gather(site: IndexSite) -> None:
    maker = site.operation.operands[2].owner
    if isinstance(maker, site.ir.Block) or maker.name != "stablehlo.constant":
        raise UnsupportedError("iree takes a dynamic_gather of constant slice sizes alone")
    elements = maker.attributes["value"]
    _clamp_starts(site, tuple(int(each) for each in site.ir.DenseIntElementsAttr(elements)))


def _clamp_starts(site: IndexSite, sizes: Sequence[int]) -> None:
    operand, indices = (site.operation.operands[place] for place in (0, 1))
    fields = site.fields("dimension_numbers")
    (vector,) = fields.get("index_vector_dim", (0,))
    axes = fields.get("start_index_map", ())
    highest = [operand.type.shape[axis] - sizes[axis] for axis in axes]
    site.operation.operands[1] = site.inside(indices, highest, vector)


def _index_select(site: IndexSite) -> None:
    operand, indices = site.operation.operands
    axis = int(site.ir.IntegerAttr(site.operation.attributes["dim"]))
    highest = [operand.type.shape[axis] - 1]
    site.operation.operands[1] = site.inside(indices, highest, indices.type.rank)


def _slice(site: IndexSite) -> None:
    """Gives a slice at computed places start indices that IREE clamps rightly.

    It clamps in their own type, where the last place may have no room.
    """
    operation = site.operation
    operand, rank = operation.operands[0].type, operation.operands[0].type.rank
    kept = operation.results[0].type if operation.name == SLICE else operation.operands[1].type
    places = range(len(operation.operands) - rank, len(operation.operands))
    if not rank or str(operation.operands[places[0]].type.element_type) in ("i32", "i64"):
        return
    for axis, place in enumerate(places):
        highest = operand.shape[axis] - kept.shape[axis]
        start = operation.operands[place]
        operation.operands[place] = site.inside(start, [highest], 0, wide=True)


RULES: Final[Mapping[str, Callable[[IndexSite], None]]] = {
    SLICE: _slice,
    "stablehlo.dynamic_update_slice": _slice,
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": keep_scatter_inside,
    "stablehlo.torch_index_select": _index_select,
}
