"""Dataflow: what a value of a program is computed from, and whether two are computed alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from topos.runtimes.interpreter.program import Program
from topos.stablehlo.definition import Definition


def producer(program: Program, slot: int) -> tuple[Definition, tuple[int, ...]] | None:
    """Returns the operation whose one result `slot` is, and the slots that it reads.

    `None` for an argument, a constant, or one of several results.
    """
    for step, operation, inputs in zip(
        program.steps, program.operations, program.inputs, strict=True
    ):
        if step.output == slot:
            return operation, inputs
    return None


def backward_slice(program: Program, slots: Iterable[int]) -> frozenset[int]:
    """Returns `slots` and every slot that they are computed from."""
    found = {*slots}
    for step, inputs in zip(reversed(program.steps), reversed(program.inputs), strict=True):
        if not found.isdisjoint(_written(step.output)):
            found.update(inputs)
    return frozenset(found)


def sliced(program: Program, slot: int) -> Program:
    """Returns the program of the steps that `slot`, its one result, comes from."""
    needed = backward_slice(program, (slot,))
    kept = [
        place
        for place, step in enumerate(program.steps)
        if not needed.isdisjoint(_written(step.output))
    ]
    return replace(
        program,
        results=(),
        # What one step no longer reads another may, and `slot` itself must last.
        steps=tuple([program.steps[place]._replace(dead=()) for place in kept]),
        operations=tuple([program.operations[place] for place in kept]),
        inputs=tuple([program.inputs[place] for place in kept]),
        outputs=(slot,),
        only=None,
    )


def alike(program: Program, left: int, right: int, paired: Callable[[int, int], bool]) -> bool:
    """Returns whether `right` is computed from arguments as `left` is from those `paired` to them.

    Operations with regions are never alike.
    """
    pending, seen = [(left, right)], set[tuple[int, int]]()
    while pending:
        pair = pending.pop()
        if pair in seen:
            continue
        seen.add(pair)
        first, second = (producer(program, slot) for slot in pair)
        if first is None or second is None:
            if first is not second or not _same_leaf(program, *pair, paired):
                return False
        elif _same_operation(*first, *second):
            pending += zip(first[1], second[1], strict=True)
        else:
            return False
    return True


def _same_operation(
    one: Definition, inputs: tuple[int, ...], other: Definition, others: tuple[int, ...]
) -> bool:
    first, second = one.operation, other.operation
    return (
        first.name == second.name
        and first.attributes == second.attributes
        and first.result_types == second.result_types
        and not first.regions
        and not second.regions
        and len(inputs) == len(others)
    )


def _same_leaf(program: Program, left: int, right: int, paired: Callable[[int, int], bool]) -> bool:
    count = len(program.arguments)
    if left < count and right < count:
        return paired(left, right)
    if left < count or right < count:
        return False
    first, second = program.rest[left - count], program.rest[right - count]
    # What is neither an argument nor a constant is one of several results.
    return left == right or (
        first is not None
        and second is not None
        and first.dtype == second.dtype
        and first.tobytes() == second.tobytes()
    )


def _written(output: int | slice) -> range:
    return range(output, output + 1) if isinstance(output, int) else range(output.stop)[output]
