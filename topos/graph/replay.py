"""Walking recorded columns over any reading, forward and in reverse."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from topos.graph.columns import Columns
from topos.op import R


def replay(columns: Columns, order: Iterable[int], values: dict[int, R]) -> None:
    """Expresses the nodes of `order`, ascending, into `values`, which holds every source."""
    forms, operands = columns.forms, columns.operands
    for index in order:
        if index not in values:
            inputs = [values[operand] for operand in operands[index]]
            values[index] = inputs[0].express(forms[index].operation, *inputs)


def reverse(
    columns: Columns,
    value: Callable[[int], R],
    target: int,
    seed: R,
    relevant: Container[int] | None = None,
) -> dict[int, R]:
    """Returns the cotangent of every node that `target` depends on, by a reverse scan.

    `value` returns the reading of a node. Cotangents accumulate in descending order of the
    consumer's position, starting from the first. With `relevant`, only those nodes receive any.
    """
    gradients: dict[int, R] = {target: seed}
    for index in range(target, -1, -1):
        operands = columns.operands[index]
        if not operands or index not in gradients:
            continue
        inputs = [value(operand) for operand in operands]
        rule = columns.forms[index].operation.backward
        cotangents = rule(inputs, value(index), gradients[index])
        for operand, cotangent in zip(operands, cotangents, strict=True):
            if cotangent is None or (relevant is not None and operand not in relevant):
                continue
            held = gradients.get(operand)
            gradients[operand] = cotangent if held is None else held + cotangent
    return gradients
