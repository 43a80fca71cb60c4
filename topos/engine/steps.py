"""The steps of a plan: which kernel computes which nodes, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from topos.engine.layout import is_view
from topos.engine.numerics import Numerics
from topos.graph import Columns, Form
from topos.op import Array, Broadcast, BroadcastAlong, Kernel, Leaf, Operation

__all__ = ["Step", "splat", "steps_of"]


class Step(NamedTuple):
    """One evaluation of the nodes `targets` from the values of the nodes `operands`.

    A source and a view have no kernel. `fused` holds the nodes that the kernel stands for beside
    its targets.
    """

    targets: tuple[int, ...]
    operands: tuple[int, ...]
    kernel: Kernel | None
    fused: tuple[int, ...] = ()


def steps_of(
    columns: Columns,
    order: Sequence[int],
    kept: Iterable[int],
    numerics: Numerics,
    fused: dict[int, Step],
) -> list[Step]:
    """Returns the steps that compute the nodes `kept`, in the order of the recording.

    `fused` are the steps of elected patterns, by the node at which each runs.
    """
    claimed = {node for step in fused.values() for node in (*step.targets, *step.fused)}
    known: dict[Form, Kernel | None] = {}
    steps = []
    for index in order:
        if index in fused:
            steps.append(fused[index])
        if index not in claimed or is_view(columns.forms[index].operation):
            steps.append(_plain(columns, index, numerics, known))
    return _demanded(steps, kept)


def _plain(
    columns: Columns, index: int, numerics: Numerics, known: dict[Form, Kernel | None]
) -> Step:
    form, operands = columns.forms[index], columns.operands[index]
    if form not in known:
        known[form] = _kernel(form, numerics)
    kernel = known[form]
    if kernel is not None and kernel.broadcasts:
        operands = tuple([_unspread(columns, operand) for operand in operands])
    return Step((index,), operands, kernel)


def _kernel(form: Form, numerics: Numerics) -> Kernel | None:
    operation, operands = form.operation, form.operands
    if not operands or is_view(operation):
        return None
    exact = numerics is Numerics.EXACT
    kernel = operation.exact(*operands) if exact else operation.fast(*operands)
    if kernel.writes or operation.introduces_nan:
        return kernel
    # An operation that computes no new numbers may answer its operand.
    return Kernel(partial(_owned, kernel.function))


def _owned(function: Callable[..., Array], *operands: Array) -> Array:
    """Returns what `function` answers, a copy where that may be an operand's memory."""
    result = function(*operands)
    if any(np.may_share_memory(result, operand) for operand in operands):
        return result.copy()
    return result


def _unspread(columns: Columns, index: int) -> int:
    """Returns the node that the one at `index` repeats along leading axes, or `index` itself."""
    operation: Operation = columns.forms[index].operation
    if isinstance(operation, Broadcast):
        return columns.operands[index][0]
    if isinstance(operation, BroadcastAlong) and operation.axes == tuple(
        range(len(operation.axes))
    ):
        return columns.operands[index][0]
    return index


def _demanded(steps: list[Step], kept: Iterable[int]) -> list[Step]:
    """Returns the steps that lead to `kept`: what every consumer unspreads or fuses is not run."""
    needed = set(kept)
    result = []
    for step in reversed(steps):
        if needed.isdisjoint(step.targets):
            continue
        needed.update(step.operands)
        result.append(step)
    result.reverse()
    return result


def splat(columns: Columns, index: int) -> Leaf | None:
    """Returns the constant at `index` where it is one number spread over its shape."""
    operation = columns.forms[index].operation
    if not isinstance(operation, Leaf) or operation.payload is None or not operation.payload.size:
        return None
    payload = operation.payload
    pairs = zip(payload.strides, payload.shape, strict=True)
    return operation if all(stride == 0 or extent == 1 for stride, extent in pairs) else None
