"""Scatters that write to a copy with margins: what StableHLO drops lands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from topos.errors import UnsupportedError
from topos.runtimes._intervals import Interval, Intervals
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer, dimension_numbers, shaped

NUMBERS: Final = "scatter_dimension_numbers"


def keep_windows(ir: Binding, operation: Binding, intervals: Intervals) -> None:
    """Gives a scatter margins where a window may lie outside in part: XLA drops such a one whole.

    Windows of one element are inside or outside, and a text may keep others inside. Raises
    `UnsupportedError` where a shape that matters is dynamic.
    """
    count = len(operation.results)
    operand, indices = operation.operands[0].type, operation.operands[count]
    fields = dimension_numbers(operation.attributes[NUMBERS])
    moved = fields.get("scatter_dims_to_operand_dims", ())
    window = windows(operation)
    (vector,) = fields.get("index_vector_dim", (0,))
    margins = {}
    for number, axis in enumerate(moved):
        if window[axis] == 1:
            continue
        found = intervals.along(indices, vector, number)
        if found is None or not found.within(Interval(0, operand.shape[axis] - window[axis])):
            margins[axis] = window[axis]
    if not margins:
        return
    for value in (*operation.operands, *operation.results):
        if not value.type.has_static_shape:
            raise UnsupportedError(
                "xla takes a scatter whose windows may lie outside in part of fixed shapes alone, "
                f"got {value.type}"
            )
    add_margins(ir, operation, margins)


def add_margins(ir: Binding, operation: Binding, margins: Mapping[int, int]) -> None:
    """Moves a scatter to operands with margins at both ends of each axis in `margins`.

    A margin as long as a window takes whatever lies outside. The indices are signed ones.
    """
    _place(ir, operation, margins)
    # What is dropped meets in a margin, in an order of its own.
    for name in ("indices_are_sorted", "unique_indices"):
        operation.attributes[name] = ir.BoolAttr.get(False)
    for place in range(len(operation.results)):
        _widen(ir, operation, place, margins)


def windows(operation: Binding) -> list[int]:
    """Returns the size of a scatter's window along each axis of its operand."""
    fields = dimension_numbers(operation.attributes[NUMBERS])
    update = operation.operands[len(operation.results) + 1].type.shape
    flat = {*fields.get("inserted_window_dims", ()), *fields.get("input_batching_dims", ())}
    sizes = iter([update[axis] for axis in fields.get("update_window_dims", ())])
    return [1 if axis in flat else next(sizes) for axis in range(operation.operands[0].type.rank)]


def _place(ir: Binding, operation: Binding, margins: Mapping[int, int]) -> None:
    """Makes the indices those of the widened operand."""
    count, shape = len(operation.results), operation.operands[0].type.shape
    fields = dimension_numbers(operation.attributes[NUMBERS])
    moved = fields["scatter_dims_to_operand_dims"]
    (vector,) = fields.get("index_vector_dim", (0,))
    start = operation.operands[count]
    fits = str(start.type.element_type) == "i32" and all(
        shape[axis] + 2 * margin < 2**31 for axis, margin in margins.items()
    )
    limits = np.iinfo(np.int32 if fits else np.int64)
    write = Writer(ir, operation)
    made = shaped(ir, start.type, f"i{limits.bits}")
    start = write.convert(start, f"i{limits.bits}")
    low = [-margins[axis] if axis in margins else int(limits.min) for axis in moved]
    high = [shape[axis] if axis in margins else int(limits.max) for axis in moved]
    bounds = [write.along(each, made, vector) for each in (low, high)]
    near = write("clamp", bounds[0], start, bounds[1], to=made)
    margin = write.along([margins.get(axis, 0) for axis in moved], made, vector)
    operation.operands[count] = write("add", near, margin)


def _widen(ir: Binding, operation: Binding, place: int, margins: Mapping[int, int]) -> None:
    """Gives an operand its margins, which the result loses again."""
    operand, result = operation.operands[place], operation.results[place]
    element = str(operand.type.element_type)
    if element.startswith("!"):
        raise UnsupportedError(f"a scatter to a margin takes no elements {element}")
    shape = operand.type.shape
    edges = [margins.get(axis, 0) for axis in range(len(shape))]
    ends = [extent + edge for extent, edge in zip(shape, edges, strict=True)]
    write = Writer(ir, operation)
    wide = write.type([end + edge for end, edge in zip(ends, edges, strict=True)], element)
    operation.operands[place] = write.pad(operand, edges, edges, [0] * len(shape), wide)
    result.set_type(wide)
    made = Writer(ir, operation, behind=True).slice(result, edges, ends)
    result.replace_all_uses_except(made, made.owner.operation)
