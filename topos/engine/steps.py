"""The steps of a plan: which kernel computes which nodes, and what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from topos.backend import Kernel, Service
from topos.engine.choices import Choice, Choices
from topos.graph import Columns, Form
from topos.op import Broadcast, BroadcastAlong, Map, Operation, Pad


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
    choices: Choices,
    fused: dict[int, Step],
) -> list[Step]:
    """Returns the steps that compute the nodes `kept`, in the order of the recording.

    `fused` are the steps of elected patterns, by the node at which each runs.
    """
    answered = {node for step in fused.values() for node in step.targets}
    inside = {node for step in fused.values() for node in step.fused}
    known: dict[Form, Choice] = {}
    steps = []
    for index in order:
        if index in fused:
            steps.append(fused[index])
        # What only moves data may have readers outside of the pattern that it is in.
        elif index not in answered and (index not in inside or _moves(columns, index)):
            steps.append(_plain(columns, index, choices, known))
    return _demanded(steps, kept)


def _plain(columns: Columns, index: int, choices: Choices, known: dict[Form, Choice]) -> Step:
    form, operands = columns.forms[index], columns.operands[index]
    operation = form.operation
    name = operation.function.value if isinstance(operation, Map) else operation.name
    if not operands or operation.is_view:
        return Step((index,), operands, None, name)
    if form not in known:
        known[form] = choices.of(operation, form.operands)
    kernel, service, _ = known[form]
    if kernel.broadcasts:
        operands = tuple([_unspread(columns, operand) for operand in operands])
    return Step((index,), operands, kernel, name, (), service)


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
    return operation.is_view or isinstance(operation, Pad)


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
