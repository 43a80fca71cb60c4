"""Liveness: which nodes a plan evaluates, and when each value may be freed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from topos.graph import Columns


def closure(columns: Columns, results: Iterable[int]) -> list[int]:
    """Returns the results and everything they depend on, ascending."""
    wanted = list(results)
    top = max(wanted)
    needed = bytearray(top + 1)
    for index in wanted:
        needed[index] = 1
    operands = columns.operands
    for index in range(top, -1, -1):
        if needed[index]:
            for operand in operands[index]:
                needed[operand] = 1
    return [index for index in range(top + 1) if needed[index]]


def retained(columns: Columns, order: Sequence[int]) -> set[int]:
    """Returns the nodes whose values the derivative rules of `order` read.

    A rule runs only for a floating result, and the reads it names are exactly what is kept.
    """
    kept: set[int] = set()
    for index in order:
        form, operands = columns.forms[index], columns.operands[index]
        if not operands or not form.type.element.differentiable:
            continue
        reads = form.operation.reads()
        kept.update(operands[position] for position in reads.operands)
        if reads.output:
            kept.add(index)
    return kept


def releases(columns: Columns, order: Sequence[int], kept: set[int]) -> list[tuple[int, ...]]:
    """Returns, for each node of `order`, the nodes whose last use it is and that nobody keeps."""
    seen = set(kept)
    result: list[tuple[int, ...]] = []
    for index in reversed(order):
        operands = columns.operands[index]
        last = tuple(operand for operand in dict.fromkeys(operands) if operand not in seen)
        seen.update(last)
        result.append(last)
    result.reverse()
    return result
