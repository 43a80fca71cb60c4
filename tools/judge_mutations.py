"""Mutations: a module in which one operation is another one, run by a runtime of ours."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from topos import runtimes
from topos.judge.bisection.replay import Step, replays, steps_of
from topos.runtimes._runtime import TIMEOUT, isolating
from topos.runtimes.interpreter.program import Array, Place
from topos.stablehlo import Module
from topos.stablehlo.ir import Block, Operation, Region, Type

# What an operation on floats becomes: one that takes the same operands, and is wrong.
OTHERS: Final[Mapping[str, str]] = {
    "stablehlo.add": "stablehlo.subtract",
    "stablehlo.subtract": "stablehlo.add",
    "stablehlo.multiply": "stablehlo.add",
    "stablehlo.divide": "stablehlo.multiply",
    "stablehlo.maximum": "stablehlo.minimum",
    "stablehlo.minimum": "stablehlo.maximum",
    "stablehlo.tanh": "stablehlo.sine",
    "stablehlo.sine": "stablehlo.cosine",
    "stablehlo.cosine": "stablehlo.sine",
    "stablehlo.exponential": "stablehlo.tanh",
    "stablehlo.log": "stablehlo.tanh",
    "stablehlo.logistic": "stablehlo.tanh",
    "stablehlo.sqrt": "stablehlo.cbrt",
    "stablehlo.rsqrt": "stablehlo.sqrt",
    "stablehlo.abs": "stablehlo.negate",
    "stablehlo.negate": "stablehlo.abs",
    "stablehlo.floor": "stablehlo.ceil",
}
# The same in the body of a reduction, where a difference would be of no order.
IN_BODIES: Final[Mapping[str, str]] = {
    "stablehlo.add": "stablehlo.maximum",
    "stablehlo.maximum": "stablehlo.minimum",
    "stablehlo.minimum": "stablehlo.maximum",
}
# A mutated loop may run without end.
SECONDS: Final = 30.0


class Mutation(NamedTuple):
    """The operation at a line and a column, and the one that runs in its place.

    `step` is the operation that a bisection should name: itself, or the one whose body holds it.
    `where` is "main", "nested" in a function or a loop, or "body".
    """

    place: Place
    old: str
    new: str
    step: Operation
    where: str


@dataclass(frozen=True)
class MutatedRuntime:
    """A runtime of ours, by its name, that runs a mutation wherever its operation stands."""

    mutation: Mutation
    runtime: str = "xla"

    def __call__(self, module: Module, arguments: Sequence[Array]) -> tuple[Array, ...]:
        adapter = runtimes.load(self.runtime)
        options = dict(isolating(adapter))
        if options:
            options[TIMEOUT] = SECONDS
        text = str(mutated(module, self.mutation))
        return tuple(adapter.compile(text, options=options)(*arguments))


def mutated(module: Module, mutation: Mutation) -> Module:
    """Returns the module with the mutation, or as it is where its operation is not in it."""
    functions = [
        each if each.body is None else each._replace(body=_region(each.body, mutation))
        for each in module.functions
    ]
    return module._replace(functions=tuple(functions))


def _region(region: Region, mutation: Mutation) -> Region:
    return Region(tuple([_block(block, mutation) for block in region.blocks]))


def _block(block: Block, mutation: Mutation) -> Block:
    return block._replace(
        operations=tuple([_operation(each, mutation) for each in block.operations])
    )


def _operation(operation: Operation, mutation: Mutation) -> Operation:
    if operation.name == mutation.old and (operation.line, operation.column) == mutation.place:
        return operation._replace(name=mutation.new, attributes={})
    regions = tuple([_region(each, mutation) for each in operation.regions])
    return operation._replace(regions=regions)


def mutations(
    module: Module, arguments: Sequence[Array], generator: random.Random
) -> Iterator[Mutation]:
    """Yields mutations that change what their operation returns of the oracle's operands.

    They come in an order of the generator's.
    """
    body = module.function().body
    inside = {(each.line, each.column) for each in (body.blocks[0].operations if body else ())}
    steps = steps_of(module, arguments)
    generator.shuffle(steps)
    for step in steps:
        operation = step.operation
        if not all(_is_real(type) for type in (*step.operand_types, *operation.result_types)):
            continue
        others, where, old = OTHERS, "nested", operation
        if (operation.line, operation.column) in inside:
            where = "main"
        if operation.name == "stablehlo.reduce":
            old, *rest = operation.regions[0].blocks[0].operations
            others, where = (IN_BODIES if len(rest) == 1 else {}), "body"
        if old.name in others:
            place = (old.line, old.column)
            mutation = Mutation(place, old.name, others[old.name], operation, where)
            if _changes(module, step, mutation):
                yield mutation


def _is_real(type: Type) -> bool:
    return getattr(type, "element", "")[:1] in ("f", "b")


def _changes(module: Module, step: Step, mutation: Mutation) -> bool:
    (replay,) = replays(module, [step])
    results: Any = MutatedRuntime(mutation, "interpreter")(replay.module, replay.arguments)
    pairs = zip(results, step.results, strict=True)
    return any(not np.array_equal(one, other, equal_nan=True) for one, other in pairs)
