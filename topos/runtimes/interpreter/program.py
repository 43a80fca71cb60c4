"""The program: a region as kernels over numbered slots, and what a value in it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from topos.payload.kernels.canonical import Array
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Type

__all__ = [
    "Array",
    "Axes",
    "Kernel",
    "Kernels",
    "Program",
    "Shape",
    "Step",
    "alike",
    "origin",
    "origins",
    "part",
    "single",
]

Axes = tuple[int, ...]
Shape = tuple[int, ...]
# A kernel takes one array an operand. It returns one array, or a sequence of arrays where the
# operation has other than one result.
Kernel = Callable[..., Any]
# Those of several operations that are chosen by one rule.
Kernels = Mapping[type[Definition], Kernel]


class Step(NamedTuple):
    """One operation: its kernel, how the operands are read, and what it does to the slots.

    `read` takes the list of slots and returns the operands; a C function, since a Python one would
    cost as much as a kernel over scalars. `output` is the slot written, or a slice of slots where
    the operation has other than one result; `dead` are the slots that nothing reads again.
    """

    kernel: Kernel
    read: Callable[[list[Any]], Sequence[Any]]
    output: int | slice
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; arguments fill the first slots, constants the next ones.

    `operations` and `inputs` hold for each step its operation and the slots that it reads.
    `elementwise` tells of a program over scalars that computes the same, element by element,
    when its arguments are arrays of one shape. `only` is its operation where it is a single
    one that takes the program's arguments in their order, or in any order that gives the
    same result.
    """

    arguments: tuple[Type, ...]
    results: tuple[Type, ...]
    rest: tuple[Array | None, ...]
    steps: tuple[Step, ...]
    operations: tuple[Definition, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    elementwise: bool
    only: type[Definition] | None

    def run(self, *arguments: Array) -> list[Array]:
        """Returns one array a result; it may be an argument, a constant or a view of either."""
        return self.consume([*arguments])

    def consume(self, values: list[Any]) -> list[Array]:
        """Returns what `run` does for the arguments in `values`, which it empties.

        An argument that nothing else refers to is freed after its last use.
        """
        values.extend(self.rest)
        for kernel, read, output, dead in self.steps:
            values[output] = kernel(*read(values))
            for slot in dead:
                values[slot] = None
        return [values[slot] for slot in self.outputs]


def single(results: Sequence[Any]) -> Any:
    """Returns what a kernel returns for `results`: the one, or all where there are more or none."""
    return results[0] if len(results) == 1 else results


def origin(program: Program, slot: int) -> tuple[Definition, tuple[int, ...]] | None:
    """Returns the operation whose one result `slot` is, and the slots that it reads.

    `None` for an argument, a constant, or one of several results.
    """
    for step, operation, inputs in zip(
        program.steps, program.operations, program.inputs, strict=True
    ):
        if step.output == slot:
            return operation, inputs
    return None


def origins(program: Program, slots: Iterable[int]) -> frozenset[int]:
    """Returns `slots` and every slot that they are computed from."""
    found = {*slots}
    for step, inputs in zip(reversed(program.steps), reversed(program.inputs), strict=True):
        if not found.isdisjoint(_written(step.output)):
            found.update(inputs)
    return frozenset(found)


def part(program: Program, slot: int) -> Program:
    """Returns the program of the steps that `slot`, its one result, comes from."""
    needed = origins(program, (slot,))
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
        first, second = (origin(program, slot) for slot in pair)
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
