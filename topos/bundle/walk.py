"""Walks: a plan's nodes evaluated by the oracle's rules, each value freed after its last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from topos.bundle.subject import OpView, Slot
from topos.engine import Plan
from topos.graph import replay
from topos.op import Leaf
from topos.reading import Tensor

__all__ = ["Move", "evaluated"]

Move = Callable[[int, Tensor], Tensor]
"""What becomes of the value of a node, by its position."""


def evaluated(
    subject: OpView, inputs: Mapping[str, Tensor], move: Move | None = None
) -> dict[str, Tensor]:
    """Returns the results of a subject by name: the oracle's bits where nothing moves.

    `move` takes the place of the value of every node but the constants, before it is read.
    """
    plan = subject.plan
    columns, last = plan.network.columns, _last_uses(plan)
    values: dict[int, Tensor] = {}
    given = {slot.port.symbol.position: _value(slot, inputs) for slot in subject.arguments}
    results = {slot.port.symbol.position for slot in subject.results}
    for index in plan.order:
        source = columns.forms[index].operation
        if isinstance(source, Leaf):
            assert source.payload is not None
            values[index] = Tensor.wrap(source.payload, source.type.element)
            continue
        if index in given:
            values[index] = given[index]
        replay(columns, [index], values)
        if move is not None:
            values[index] = move(index, values[index])
        for operand in set(columns.operands[index]):
            if last[operand] == index and operand not in results:
                del values[operand]
    return {slot.name: values[slot.port.symbol.position] for slot in subject.results}


def _value(slot: Slot, inputs: Mapping[str, Tensor]) -> Tensor:
    return inputs[slot.name] if slot.value is None else slot.value


def _last_uses(plan: Plan) -> dict[int, int]:
    """Returns the last node that reads each node of a plan."""
    operands = plan.network.columns.operands
    return {operand: index for index in plan.order for operand in operands[index]}
