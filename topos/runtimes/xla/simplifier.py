"""What XLA's simplifier gets wrong: slices of slices, and windows over what is cropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._origins import Origins
from topos.runtimes._rewriting import Writer, dimension_numbers, operations_of, slice_sizes

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
    sizes = slice_sizes(ir, operation)
    fields = dimension_numbers(operation.attributes["dimension_numbers"])
    axes = fields.get("start_index_map", ())
    if sizes is not None and axes:
        (vector,) = fields.get("index_vector_dim", (0,))
        highest = [operand.shape[axis] - sizes[axis] for axis in axes]
        _clamp_operand(ir, operation, 1, highest, vector)


def _clamp_operand(
    ir: Binding, operation: Binding, place: int, highest: Sequence[int], axis: int
) -> None:
    """Clamps indices to `highest`, one for each place along `axis`."""
    indices = operation.operands[place]
    type = indices.type
    if not type.has_static_shape or 0 in type.shape or min(highest) < 0:
        return
    operation.operands[place] = Writer(ir, operation).clamp(indices, highest, axis)


def keep_cropped(ir: Binding, operation: Binding) -> None:
    """Puts what crops the operands of a reduce_window behind a barrier.

    XLA adds up the padding of a pad and that of the window, and what the one has dropped is back;
    where the sum is negative it ends its process. So negative padding of a window becomes a pad.
    """
    padding = _padding(ir, operation)
    if (padding < 0).any():
        _crop(ir, operation, padding)
        return
    for place in range(len(operation.results)):
        operand = operation.operands[place]
        if _is_cropped(ir, operand):
            operation.operands[place] = Writer(ir, operation)("optimization_barrier", operand)


def _is_cropped(ir: Binding, value: Binding) -> bool:
    """Returns whether `value` comes from a pad that XLA joins with a window: one that also spreads.

    It makes a slice of a pad that only crops.
    """
    maker = value.owner
    if isinstance(maker, ir.Block) or maker.name != "stablehlo.pad":
        return False
    low, high, between = (
        [*ir.DenseI64ArrayAttr(maker.attributes[each])]
        for each in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return min(low + high, default=0) < 0 < max(between, default=0)


def _crop(ir: Binding, operation: Binding, padding: Any) -> None:
    """Spreads out and crops the operands of a window, which is left with what it pads."""
    rank, count = len(padding), len(operation.results)
    spread = [1] * rank
    if "base_dilations" in operation.attributes:
        spread = [*ir.DenseI64ArrayAttr(operation.attributes["base_dilations"])]
    low, high = np.minimum(padding, 0).T
    write, between = Writer(ir, operation), [each - 1 for each in spread]
    for place in range(count):
        operand, initial = operation.operands[place], operation.operands[count + place]
        shape = low + high + (np.array(operand.type.shape) - 1) * spread + 1
        cropped = write.type(shape, operand.type.element_type)
        made = write.pad(operand, low, high, between, cropped, initial)
        operation.operands[place] = write("optimization_barrier", made)
    kept = np.ascontiguousarray(np.maximum(padding, 0))
    operation.attributes["padding"] = ir.DenseElementsAttr.get(kept)
    operation.attributes["base_dilations"] = ir.DenseI64ArrayAttr.get([1] * rank)


def _padding(ir: Binding, operation: Binding) -> Any:
    """Returns the padding as numbers in rows, one an axis."""
    if "padding" not in operation.attributes:
        return np.zeros((operation.operands[0].type.rank, 2), np.int64)
    return np.array(ir.DenseIntElementsAttr(operation.attributes["padding"]))
