"""Liveness: which nodes a plan evaluates, when each value dies, and what is written over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from topos.engine.steps import Step
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


class Sharing(NamedTuple):
    """`roots` answers whose storage a node views, `deaths` the last step that reads a root.

    What is kept dies after the last step. `heirs` answers, for a root that is written over, the
    node at the end of its line, whose storage the whole line has.
    """

    roots: dict[int, int]
    deaths: dict[int, int]
    heirs: dict[int, int]

    def line(self, node: int) -> int:
        """Returns the last node that the storage of `node` is written for."""
        root = self.roots[node]
        return self.heirs.get(root, root)


def sharing_of(columns: Columns, steps: Sequence[Step], kept: Iterable[int]) -> Sharing:
    """Returns who shares storage with whom among `steps`."""
    roots: dict[int, int] = {}
    deaths: dict[int, int] = {}
    makers: dict[int, Step] = {}
    for position, step in enumerate(steps):
        for operand in step.operands:
            deaths[roots[operand]] = position
        is_view = step.kernel is None and step.operands
        for target in step.targets:
            roots[target] = roots[step.operands[0]] if is_view else target
            makers[target] = step
            deaths.setdefault(roots[target], position)
    for node in kept:
        deaths[roots[node]] = len(steps)
    heirs: dict[int, int] = {}
    for position in range(len(steps) - 1, -1, -1):
        step = steps[position]
        given = _overwritten(columns, step, position, roots, deaths, makers)
        if given is not None:
            heirs[given] = heirs.get(step.targets[0], step.targets[0])
    return Sharing(roots, deaths, heirs)


def _overwritten(
    columns: Columns,
    step: Step,
    position: int,
    roots: dict[int, int],
    deaths: dict[int, int],
    makers: dict[int, Step],
) -> int | None:
    """Returns the operand whose storage the result of `step` takes over."""
    kernel = step.kernel
    if kernel is None or not kernel.writes or not kernel.over:
        return None
    type = columns.forms[step.targets[0]].type
    owners = [roots[operand] for operand in step.operands]
    for place in kernel.over:
        operand = step.operands[place]
        maker = makers[operand].kernel
        if (
            maker is None
            or not maker.writes
            or deaths[operand] != position
            or columns.forms[operand].type != type
        ):
            continue
        # Another view of that storage would be read after it is written; for a ufunc the very
        # same elements are read in time.
        others = [i for i, owner in enumerate(owners) if owner == operand and i != place]
        exactly = isinstance(kernel.function, np.ufunc) and all(
            step.operands[i] == operand for i in others
        )
        if not others or exactly:
            return operand
    return None
