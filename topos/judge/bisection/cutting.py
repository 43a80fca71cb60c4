"""Cuts of a module: all the values of @main returned together, or those that live at one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from topos.stablehlo import Module
from topos.stablehlo.dialect import definitions
from topos.stablehlo.ir import Block, Operation, Tensor, result_names
from topos.stablehlo.scope import captured


class Cut(NamedTuple):
    """A module that returns values of another's @main, and the operations that compute these."""

    module: Module
    values: tuple[str, ...]
    operations: tuple[Operation, ...]


def watched(module: Module) -> Cut:
    """Returns the module with every tensor that @main computes as a result, in order.

    What @main returns stands among them, so that whoever runs it sees whether that still is wrong.
    """
    return _cut(module, list(_values(_block(module))))


def truncated(module: Module, count: int) -> Cut | None:
    """Returns @main up to its first `count` operations, with what lives behind them as results.

    `None` where a value lives there that is no tensor, or nothing lives at all.
    """
    block = _block(module)
    before, after = block.operations[:count], block.operations[count:]
    used = {name for each in after for name in (*each.operands, *captured(each.regions))}
    made = [
        (name, operation, place)
        for operation in before
        for place, name in enumerate(operation.results)
        if not used.isdisjoint(result_names(name))
    ]
    types = [operation.result_types[place] for _, operation, place in made]
    if not made or not all(isinstance(type, Tensor) for type in types):
        return None
    return _cut(module, [(name, operation) for name, operation, _ in made])


def length(module: Module) -> int:
    """Returns how many operations @main has before its return."""
    return len(_block(module).operations) - 1


def operation_at(module: Module, place: int) -> Operation:
    """Returns one of the operations of @main."""
    return _block(module).operations[place]


def _block(module: Module) -> Block:
    body = module.function().body
    assert body is not None  # The oracle ran it.
    return body.blocks[0]


def _values(block: Block) -> Iterator[tuple[str, Operation]]:
    known = definitions()
    for operation in block.operations[:-1]:
        defined = known.get(operation.name)
        if defined is not None and defined.is_constant:
            continue
        for name, type in zip(operation.results, operation.result_types, strict=True):
            if name and isinstance(type, Tensor):
                yield name, operation


def _cut(module: Module, made: list[tuple[str, Operation]]) -> Cut:
    names, operations = zip(*made, strict=True) if made else ((), ())
    return Cut(module.slice(list(names)), names, operations)
