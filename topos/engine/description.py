"""The description of a plan: one line a node, with what is kept, freed, fused and reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from topos.engine.liveness import releases
from topos.engine.schedule import Schedule
from topos.graph import Columns
from topos.graph.node import node_at


def described(
    columns: Columns, order: Sequence[int], kept: Sequence[int], schedule: Schedule
) -> Iterator[str]:
    """Yields a line on the memory, one a pattern that runs as one step, and one a node.

    `kept` nodes are answered or held for a scan; a node `frees` operands that nobody reads after
    it, is `fused into` the pattern that ends at another, or is written `over` an operand.
    """
    memory = schedule.memory()
    yield f"peak of {memory.peak} bytes, arena of {memory.arena}"
    into = {}
    for step in schedule.steps:
        if step.fused:
            yield f"%{step.targets[0]} is {step.name} of {' '.join(f'%{i}' for i in step.operands)}"
        into.update(dict.fromkeys(step.fused, step.targets[0]))
    freed, held = releases(columns, order, set(kept)), set(kept)
    for index, dead in zip(order, freed, strict=True):
        notes = ["kept"] if index in held else []
        if dead:
            notes.append(f"frees {' '.join(f'%{operand}' for operand in dead)}")
        if index in into:
            notes.append(f"fused into %{into[index]}")
        if index in schedule.program.reused:
            notes.append(f"over %{schedule.program.reused[index]}")
        yield "  ".join([str(node_at(columns, index)), *notes])
