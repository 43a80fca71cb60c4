"""Indices kept inside what they index: IREE itself reads and writes wherever they point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._intervals import Interval, Intervals, held
from topos.runtimes._mlir import Binding
from topos.runtimes._plain_forms import plain_index
from topos.runtimes._rewriting import dimension_numbers, operations_of, slice_sizes
from topos.runtimes._scatter_margins import NUMBERS, add_margins, windows
from topos.runtimes.iree.site import Site

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
            site = _IndexSite(ir, operation, intervals)
            site.require_static()
            rule(site)


class _IndexSite(Site):
    """An operation whose indices must stay inside, with what its text says of them."""

    def __init__(self, ir: Binding, operation: Binding, intervals: Intervals) -> None:
        super().__init__(ir, operation)
        self._intervals = intervals

    def stays(self, indices: Binding, highest: int) -> bool:
        """Returns whether the text itself keeps `indices` between 0 and `highest`."""
        found = self._intervals.of(indices)
        return found is not None and found.within(Interval(0, highest))

    def keep(self, place: int, highest: Sequence[int], axis: int, wide: bool = False) -> None:
        """Clamps the operand at `place` to `highest`, one for each place along `axis`.

        Unsigned indices, and all where they are to be `wide`, become signed ones of 64 bits.
        """
        write, indices = self.write, self.operands[place]
        if not highest or 0 in indices.type.shape:
            return
        is_unsigned = str(indices.type.element_type).startswith("ui")
        if not self.stays(indices, min(highest)):
            holds = held(indices.type)
            if holds is None:
                raise UnsupportedError(f"iree takes indices of whole bytes, got {indices.type}")
            indices = write.clamp(indices, [min(each, holds.high) for each in highest], axis)
        if wide or is_unsigned:
            indices = write.convert(indices, "i64")
        self.operation.operands[place] = indices


def _gather(site: _IndexSite) -> None:
    sizes = slice_sizes(site.ir, site.operation)
    if sizes is None:
        raise UnsupportedError("iree takes a dynamic_gather of constant slice sizes alone")
    fields = dimension_numbers(site.operation.attributes["dimension_numbers"])
    (vector,) = fields.get("index_vector_dim", (0,))
    axes, shape = fields.get("start_index_map", ()), site.operands[0].type.shape
    site.keep(1, [shape[axis] - sizes[axis] for axis in axes], vector)


def _index_select(site: _IndexSite) -> None:
    operand, indices = (each.type for each in site.operands)
    axis = int(site.ir.IntegerAttr(site.operation.attributes["dim"]))
    site.keep(1, [operand.shape[axis] - 1], indices.rank)


def _slice(site: _IndexSite) -> None:
    """Gives a slice at computed places start indices that IREE clamps rightly.

    It clamps in their own type, where the last place may have no room.
    """
    operand, count = site.operands[0].type, len(site.operands)
    kept = site.results[0].type if site.operation.name == SLICE else site.operands[1].type
    first = count - operand.rank
    if not operand.rank or str(site.operands[first].type.element_type) in ("i32", "i64"):
        return
    for axis in range(operand.rank):
        site.keep(first + axis, [operand.shape[axis] - kept.shape[axis]], 0, wide=True)


def _scatter(site: _IndexSite) -> None:
    """Gives a scatter margins for what it drops, unless its text keeps all of it inside.

    Raises `UnsupportedError` for windows that may lie outside in part: IREE has no such scatter.
    """
    operation, count = site.operation, len(site.results)
    indices, operand = site.operands[count], site.operands[0].type
    fields = dimension_numbers(operation.attributes[NUMBERS])
    moved = fields.get("scatter_dims_to_operand_dims", ())
    if not moved or 0 in indices.type.shape:
        return
    window = windows(operation)
    slack = [operand.shape[axis] - window[axis] for axis in moved]
    if site.stays(indices, min(slack)):
        (vector,) = fields.get("index_vector_dim", (0,))
        site.keep(count, slack, vector)
        return
    if any(window[axis] > 1 for axis in moved):
        raise UnsupportedError("iree takes no scatter whose windows may overlap in part")
    plain_index(site.ir, operation, count)
    add_margins(site.ir, operation, {axis: window[axis] for axis in moved})


RULES: Final[Mapping[str, Callable[[_IndexSite], None]]] = {
    SLICE: _slice,
    "stablehlo.dynamic_update_slice": _slice,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
    "stablehlo.torch_index_select": _index_select,
}
