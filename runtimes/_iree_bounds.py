"""Indices kept inside what they index: IREE itself reads and writes wherever they point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from topos.errors import UnsupportedError
from topos.runtimes._iree_intervals import Intervals
from topos.runtimes._iree_scatter import keep_scatter_inside
from topos.runtimes._iree_site import IndexSite
from topos.runtimes._iree_writer import Writer
from topos.runtimes._mlir import Binding

__all__ = ["keep_inside"]

DIALECTS: Final = frozenset({"builtin", "chlo", "func", "stablehlo"})
SLICE: Final = "stablehlo.dynamic_slice"


def keep_inside(ir: Binding, module: Binding) -> None:
    """Rewrites gathers and scatters of `module` so that they heed StableHLO's bounds.

    A gather's start indices are clamped, and so are those of a torch_index_select, as XLA does.
    A scatter goes to a copy of its operand with a margin that takes what the specification drops.
    What a text already bounds, by a clamp or a constant, stays as it is. Raises `UnsupportedError`
    for a dialect whose operations could index in ways of their own, for a dynamic_gather whose
    slice sizes are no constant, for a scatter of windows that overlap in part, and where a shape
    that matters is dynamic.
    """
    intervals = Intervals(ir)
    for operation in _operations(ir, module):
        if operation.name.partition(".")[0] not in DIALECTS:
            raise UnsupportedError(f"iree takes StableHLO and CHLO, got {operation.name}")
        rule = RULES.get(operation.name)
        if rule is not None:
            _require_static(operation)
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
    operand, indices = site.operation.operands[0].type, site.operation.operands[1].type
    fields = site.fields("dimension_numbers")
    (vector,) = fields.get("index_vector_dim", (0,))
    highest = [operand.shape[axis] - sizes[axis] for axis in fields.get("start_index_map", ())]
    if highest and 0 not in indices.shape:
        _clamp(site, highest, vector)


def _index_select(site: IndexSite) -> None:
    operand, indices = (each.type for each in site.operation.operands)
    axis = int(site.ir.IntegerAttr(site.operation.attributes["dim"]))
    if 0 not in indices.shape:
        _clamp(site, [operand.shape[axis] - 1], indices.rank)


def _slice(site: IndexSite) -> None:
    """Gives a slice at computed places start indices that IREE clamps rightly.

    It clamps in their own type, where the last place may have no room, and reads all as signed.
    """
    operation, integers = site.operation, site.ir.IntegerType
    operand, rank = operation.operands[0].type, operation.operands[0].type.rank
    kept = operation.results[0].type if operation.name == SLICE else operation.operands[1].type
    places = range(len(operation.operands) - rank, len(operation.operands))
    if not rank or str(operation.operands[places[0]].type.element_type) in ("i32", "i64"):
        return
    writer = Writer(site.ir, operation)
    for axis, place in enumerate(places):
        start = operation.operands[place]
        highest = min(operand.shape[axis] - kept.shape[axis], site.largest(start))
        low, high = (writer.along([each], start.type, 0) for each in (0, highest))
        inside = writer.write("clamp", start.type, [low, start, high])
        operation.operands[place] = writer.converted(inside, integers.get_signless(64))


def _clamp(site: IndexSite, highest: Sequence[int], vector: int) -> None:
    """Clamps the indices to `highest`, one for each place along the axis `vector`."""
    indices = site.operation.operands[1]
    if site.stays(indices, min(highest)):
        return
    largest = site.largest(indices)
    writer = Writer(site.ir, site.operation)
    low = writer.along([0] * len(highest), indices.type, vector)
    high = writer.along([min(each, largest) for each in highest], indices.type, vector)
    site.operation.operands[1] = writer.write("clamp", indices.type, [low, indices, high])


def _require_static(operation: Binding) -> None:
    for value in (*operation.operands, *operation.results):
        if not value.type.has_static_shape:
            raise UnsupportedError(
                f"iree takes {operation.name} of fixed shapes alone, got {value.type}"
            )


def _operations(ir: Binding, module: Binding) -> list[Binding]:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


RULES: Final[Mapping[str, Callable[[IndexSite], None]]] = {
    SLICE: _slice,
    "stablehlo.dynamic_update_slice": _slice,
    "stablehlo.dynamic_gather": _dynamic_gather,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": keep_scatter_inside,
    "stablehlo.torch_index_select": _index_select,
}
