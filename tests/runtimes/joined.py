"""Several modules as one, for a compiler that takes most of a second whatever it compiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topos.stablehlo import Block, Function, Module, Operation, Parameter, Region, Symbol, parse


def joined(texts: Sequence[str]) -> str:
    """Returns a module whose `@main` takes and does what those of `texts` do, one after another."""
    functions: list[Function] = []
    arguments, results = list[Parameter](), list[Parameter]()
    operations, returned = list[Operation](), list[Operation]()
    for number, text in enumerate(texts):
        for function in parse(text).functions:
            moved = _function(function, number)
            if function.name != "main":
                functions.append(moved)
                continue
            assert moved.body is not None
            (block,) = moved.body.blocks
            arguments += moved.arguments
            results += moved.results
            operations += block.operations[:-1]
            returned.append(block.operations[-1])
    end = returned[0]._replace(
        operands=tuple(name for each in returned for name in each.operands),
        operand_types=tuple(type for each in returned for type in each.operand_types or ()),
    )
    block = Block(tuple(arguments), (*operations, end))
    main = Function("main", block.arguments, tuple(results), {}, Region((block,)), 0, 0)
    return str(Module("", {}, (main, *functions)))


def _function(function: Function, number: int) -> Function:
    assert function.body is not None
    return function._replace(
        name=f"{function.name}_{number}",
        arguments=_parameters(function.arguments, number),
        body=_region(function.body, number),
    )


def _region(region: Region, number: int) -> Region:
    return Region(
        tuple(
            block._replace(
                arguments=_parameters(block.arguments, number),
                operations=tuple(_operation(each, number) for each in block.operations),
            )
            for block in region.blocks
        )
    )


def _operation(operation: Operation, number: int) -> Operation:
    return operation._replace(
        results=tuple(_name(name, number) for name in operation.results),
        operands=tuple(_name(name, number) for name in operation.operands),
        attributes={key: _symbols(each, number) for key, each in operation.attributes.items()},
        regions=tuple(_region(each, number) for each in operation.regions),
    )


def _parameters(parameters: tuple[Parameter, ...], number: int) -> tuple[Parameter, ...]:
    return tuple(each._replace(name=_name(each.name, number)) for each in parameters)


def _name(name: str, number: int) -> str:
    return f"%m{number}_{name[1:]}" if name else ""


def _symbols(attribute: Any, number: int) -> Any:
    """Returns an attribute whose functions have the names that they have here."""
    if isinstance(attribute, Symbol):
        return Symbol(f"{attribute}_{number}")
    if type(attribute) in (tuple, list):
        return type(attribute)(_symbols(each, number) for each in attribute)
    return attribute
