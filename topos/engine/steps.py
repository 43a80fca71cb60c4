"""The steps of a plan: which kernel computes which nodes, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from topos.backend import Service
from topos.engine.layout import is_view
from topos.engine.numerics import Numerics
from topos.engine.services import Chosen, chosen
from topos.graph import Columns, Form
from topos.op import Array, Broadcast, BroadcastAlong, Kernel, Map, Operation, Pad

__all__ = ["Step", "kernel_for", "steps_of"]


class Step(NamedTuple):
    """One evaluation of the nodes `targets` from the values of the nodes `operands`.

    A source and a view have no kernel. `name` is what its kernel is called, `fused` holds the nodes
    that it stands for beside its targets, and `service` is the row that it adds to a tally.
    """

    targets: tuple[int, ...]
    operands: tuple[int, ...]
    kernel: Kernel | None
    name: str
    fused: tuple[int, ...] = ()
    service: Service | None = None


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
    answered = {node for step in fused.values() for node in step.targets}
    inside = {node for step in fused.values() for node in step.fused}
    known: dict[Form, Chosen] = {}
    steps = []
    for index in order:
        if index in fused:
            steps.append(fused[index])
        # What only moves data may have readers outside of the pattern that it is in.
        elif index not in answered and (index not in inside or _moves(columns, index)):
            steps.append(_plain(columns, index, numerics, known))
    return _demanded(steps, kept)


def kernel_for(form: Form, *, exact: bool) -> Chosen:
    """Returns the kernel of nodes of `form`; its result is never an operand's memory."""
    operation, operands = form.operation, form.operands
    kernel = operation.exact(*operands) if exact else operation.fast(*operands)
    found = chosen(form, kernel, exact=exact)
    if found.kernel.writes or operation.introduces_nan:
        return found
    # An operation that computes no new numbers may answer its operand.
    return found._replace(kernel=Kernel(partial(_owned, found.kernel.function)))


def _plain(columns: Columns, index: int, numerics: Numerics, known: dict[Form, Chosen]) -> Step:
    form, operands = columns.forms[index], columns.operands[index]
    operation = form.operation
    name = operation.function.value if isinstance(operation, Map) else operation.name
    if not operands or is_view(form.operation):
        return Step((index,), operands, None, name)
    if form not in known:
        known[form] = kernel_for(form, exact=numerics is Numerics.EXACT)
    kernel, service = known[form]
    if kernel.broadcasts:
        operands = tuple([_unspread(columns, operand) for operand in operands])
    return Step((index,), operands, kernel, name, (), service)


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


def _moves(columns: Columns, index: int) -> bool:
    operation = columns.forms[index].operation
    return is_view(operation) or isinstance(operation, Pad)


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
