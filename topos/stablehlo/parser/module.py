"""Assembly of a module from the functions of its text, custom or generic."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any, Final, NamedTuple

from topos.errors import UnsupportedError
from topos.stablehlo.dialect import has
from topos.stablehlo.dialect.calling import Func
from topos.stablehlo.dialect.calling import Module as Wrapped
from topos.stablehlo.forms.mistakes import EMPTY
from topos.stablehlo.ir import (
    Attributes,
    Function,
    FunctionType,
    Module,
    Opaque,
    Operation,
    Parameter,
    Region,
    Type,
)
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.parser.aliases import Alias, names_of
from topos.stablehlo.resources import Resources, resources_of
from topos.stablehlo.traits import Trait

# What an attribute or an alias that is a location is kept as: where it leads is not read.
MODULE: Final = Wrapped.operation_name
LOCATION: Final = Opaque("loc(unknown)")
_VISIBILITIES: Final = frozenset({"nested", "private", "public"})
# The attributes of a generic function that are parts of the tree.
_PARTS: Final = frozenset({"sym_name", "function_type", "arg_attrs", "res_attrs"})


class Inner(NamedTuple):
    """A module that the text wraps its functions in."""

    module: Module
    line: int
    column: int


class Section(NamedTuple):
    """The text of the section of resources, with its brackets."""

    text: str
    line: int
    column: int


Part = Inner | Section | Function | Operation | Alias


def whole(parts: Iterable[Part]) -> Module:
    """Returns the module of a whole text, its aliases and resources resolved.

    Raises `ParseError` where the text has nothing else, be it blanks, comments or locations.
    """
    parts = list(parts)
    if all(isinstance(part, Alias | Section) for part in parts):
        raise EMPTY.error()
    module = assemble([part for part in parts if not isinstance(part, Alias | Section)])
    resources = Resources({})
    for part in parts:
        if isinstance(part, Section):
            resources = resources_of(part.text)
    aliases = [part for part in parts if isinstance(part, Alias) and part.value != LOCATION]
    if not aliases and not resources.blobs:
        return module
    names = names_of(aliases, resources)
    return Module(module.name, *[names.resolved(field) for field in module[1:]])


def assemble(parts: Iterable[Part]) -> Module:
    """Returns the one module that `parts` hold, or a nameless one around their functions."""
    functions: list[Function] = []
    others: list[Operation] = []
    modules: list[Inner] = []
    for part in parts:
        match part:
            case Inner():
                modules.append(part)
            case Function():
                functions.append(part)
            case Operation(name=name) if name == MODULE:
                modules.append(Inner(_module(part), *part.place))
            case Operation(name=name) if name == Func.operation_name:
                functions.append(_function(part))
            case Operation(name=name) if has(name, Trait.DECLARATION):
                others.append(part)
            case Operation():
                raise UnsupportedError(f"{part.name} outside a function", *part.place)
            case Alias() | Section():
                reason = "an alias or a section of resources inside a module"
                raise UnsupportedError(reason, part.line, part.column)
    if not modules:
        return Module("", {}, tuple(functions), tuple(others))
    if functions or others or len(modules) > 1:
        _, line, column = modules[-1]
        raise UnsupportedError("a module beside or inside another", line, column)
    return modules[0].module


def _module(operation: Operation) -> Module:
    operations = [
        inner
        for region in operation.regions
        for block in region.blocks
        for inner in block.operations
    ]
    for inner in operations:
        if inner.name == MODULE:
            raise UnsupportedError("a module inside another", *inner.place)
    attributes = dict(operation.attributes)
    name = str(attributes.pop("sym_name", ""))
    return assemble(operations)._replace(name=name, attributes=attributes)


def _function(operation: Operation) -> Function:
    attributes = operation.attributes
    types = attributes.get("function_type")
    if not isinstance(types, FunctionType):
        raise UnsupportedError(f"{operation.name} without a function_type", *operation.place)
    if attributes.get("sym_visibility", "public") not in _VISIBILITIES:
        raise TokenError(f"a function is {', '.join(sorted(_VISIBILITIES))}", operation)
    body = operation.regions[0] if operation.regions and operation.regions[0].blocks else None
    arguments = _parameters(types.operands, _names(body), attributes.get("arg_attrs"))
    if body is not None and _types(body.blocks[0].arguments) == types.operands:
        body = Region((body.blocks[0]._replace(arguments=arguments), *body.blocks[1:]))
    return Function(
        str(attributes.get("sym_name", "")),
        arguments,
        _parameters(types.results, [], attributes.get("res_attrs")),
        {key: value for key, value in attributes.items() if key not in _PARTS},
        body,
        operation.line,
        operation.column,
    )


def _types(arguments: tuple[Parameter, ...]) -> tuple[Type, ...]:
    return tuple(argument.type for argument in arguments)


def _names(body: Region | None) -> list[str]:
    return [] if body is None else [argument.name for argument in body.blocks[0].arguments]


def _parameters(
    types: tuple[Type, ...], names: list[str], attributes: Any
) -> tuple[Parameter, ...]:
    stated: tuple[Attributes, ...] = attributes if isinstance(attributes, tuple) else ()
    named, noted = chain(names, repeat("")), chain(stated, repeat({}))
    return tuple(map(Parameter, named, types, noted))
