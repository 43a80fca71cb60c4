"""Slices of slices, whose starts XLA's simplifier adds up before it clamps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import along, dimension_numbers, operations_of, replaced

__all__ = ["clamp_nested"]

SLICE: Final = "stablehlo.dynamic_slice"
GATHER: Final = "stablehlo.gather"
SLICES: Final = frozenset({SLICE, GATHER, "stablehlo.dynamic_gather"})
# Operations that the simplifier moves a slice over.
MOVES: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("bitcast_convert", "broadcast_in_dim", "concatenate", "convert", "copy", "pad"),
        *("reshape", "reverse", "slice", "transpose"),
    )
)


def clamp_nested(ir: Binding, module: Binding) -> None:
    """Clamps the starts of every slice and gather that reads another's result, and the other's.

    Results are followed through what only moves them, calls and loops.
    """
    operations = operations_of(ir, module)
    slices = [each for each in operations if each.name in SLICES]
    if len(slices) < 2:
        return
    sources = _Sources(ir, operations)
    nested = []
    for each in slices:
        inner = sources.slices(each.operands[0])
        nested += [*inner, each] if inner else []
    for each in dict.fromkeys(nested):
        _clamp(ir, each)


class _Sources:
    """Where values of a module come from."""

    def __init__(self, ir: Binding, operations: Sequence[Binding]) -> None:
        self._ir = ir
        self._functions: dict[str, Any] = {}
        self._calls: dict[str, list[Any]] = {}
        for each in operations:
            if each.name == "func.func":
                self._functions[ir.StringAttr(each.attributes["sym_name"]).value] = each
            elif each.name == "func.call":
                self._calls.setdefault(self._callee(each), []).append(each)

    def slices(self, value: Binding) -> list[Binding]:
        """Returns the slices and gathers whose results `value` may hold."""
        found, left, seen = [], [value], set()
        while left:
            value = left.pop()
            if value in seen:
                continue
            seen.add(value)
            maker = value.owner
            if not isinstance(maker, self._ir.Block) and maker.name in SLICES:
                found.append(maker)
            else:
                left += self._before(value, maker)
        return found

    def _before(self, value: Binding, maker: Binding) -> Iterator[Binding]:
        if isinstance(maker, self._ir.Block):
            number = self._ir.BlockArgument(value).arg_number
            yield from self._before_argument(number, maker.owner.operation)
            return
        place = self._ir.OpResult(value).result_number
        if maker.name in MOVES:
            yield from maker.operands
        elif maker.name == "func.call":
            yield _returned(self._functions[self._callee(maker)].regions[0], place)
        elif maker.name == "stablehlo.while":
            yield maker.operands[place]
            yield _returned(maker.regions[1], place)
        elif maker.name in ("stablehlo.case", "stablehlo.if"):
            yield from (_returned(region, place) for region in maker.regions)

    def _before_argument(self, place: int, owner: Binding) -> Iterator[Binding]:
        if owner.name == "stablehlo.while":
            yield owner.operands[place]
            yield _returned(owner.regions[1], place)
        elif owner.name == "func.func":
            name = self._ir.StringAttr(owner.attributes["sym_name"]).value
            yield from (each.operands[place] for each in self._calls.get(name, ()))

    def _callee(self, call: Binding) -> str:
        name: str = self._ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        return name


def _returned(region: Binding, place: int) -> Binding:
    *_, last = region.blocks[0].operations
    return last.operands[place]


def _clamp(ir: Binding, operation: Binding) -> None:
    operand = operation.operands[0].type
    if operation.name == SLICE:
        kept = operation.results[0].type.shape
        for axis in range(operand.rank):
            _clamp_operand(ir, operation, axis + 1, [operand.shape[axis] - kept[axis]], 0)
        return
    sizes = _sizes(ir, operation)
    fields = dimension_numbers(operation.attributes["dimension_numbers"])
    axes = fields.get("start_index_map", ())
    if sizes is not None and axes:
        (vector,) = fields.get("index_vector_dim", (0,))
        highest = [operand.shape[axis] - sizes[axis] for axis in axes]
        _clamp_operand(ir, operation, 1, highest, vector)


def _sizes(ir: Binding, operation: Binding) -> Sequence[int] | None:
    if operation.name == GATHER:
        return [*ir.DenseI64ArrayAttr(operation.attributes["slice_sizes"])]
    maker = operation.operands[2].owner
    if isinstance(maker, ir.Block) or maker.name != "stablehlo.constant":
        return None
    return [int(each) for each in ir.DenseIntElementsAttr(maker.attributes["value"])]


def _clamp_operand(
    ir: Binding, operation: Binding, place: int, highest: Sequence[int], axis: int
) -> None:
    """Clamps indices to `highest`, one for each place along `axis`."""
    type = operation.operands[place].type
    if not type.has_static_shape or 0 in type.shape or min(highest) < 0:
        return
    lines = f"""%low = stablehlo.constant dense<0> : {type}
    {along("high", highest, type, axis)}
    %r = stablehlo.clamp %low, %i, %high : {type}"""
    replaced(ir, operation, place, lines, type)
