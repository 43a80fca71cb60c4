"""Slices of slices, whose starts XLA's simplifier adds up before it clamps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topos.runtimes._mlir import Binding
from topos.runtimes._origins import Origins
from topos.runtimes._rewriting import Writer, dimension_numbers, operations_of

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
    origins = Origins(ir, operations)
    nested = []
    for each in slices:
        found = origins.of([each.operands[0]], MOVES.__contains__)
        makers = (value.owner for value in found if not isinstance(value.owner, ir.Block))
        inner = [maker for maker in makers if maker.name in SLICES]
        nested += [*inner, each] if inner else []
    for each in dict.fromkeys(nested):
        _clamp(ir, each)


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
    indices = operation.operands[place]
    type = indices.type
    if not type.has_static_shape or 0 in type.shape or min(highest) < 0:
        return
    operation.operands[place] = Writer(ir, operation).clamp(indices, highest, axis)
