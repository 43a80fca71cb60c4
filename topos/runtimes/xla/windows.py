"""Windows over what is cropped, which XLA's simplifier takes for what is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer


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
