"""Assembly of a module from the functions of its text, pretty or generic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from topos.errors import UnsupportedError
from topos.runtimes._stablehlo.aliases import Alias, resolved
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Function,
    FunctionType,
    Module,
    Operation,
    Parameter,
    Type,
)

__all__ = ["assemble"]


def assemble(parts: Iterable[Module | Function | Operation | Alias]) -> Module:
    """Returns the one module that `parts` hold, or a nameless one around their functions."""
    functions: list[Function] = []
    modules: list[Module] = []
    aliases: dict[str, Any] = {}
    for part in parts:
        match part:
            case Alias(name=name, value=value):
                # A location is a string by now, and nothing reads where it leads.
                if not isinstance(value, str):
                    aliases[name] = value
            case Module():
                modules.append(part)
            case Function():
                functions.append(part)
            case Operation(name="builtin.module"):
                modules.append(_module(part))
            case Operation(name="func.func"):
                functions.append(_function(part))
            case Operation():
                raise UnsupportedError(f"{part.name} outside a function", part.line, part.column)
    if modules and (functions or len(modules) > 1):
        raise UnsupportedError("a module beside or inside another")
    module = modules[0] if modules else Module("", {}, tuple(functions))
    if not aliases:
        return module
    return module._replace(functions=tuple(resolved(part, aliases) for part in module.functions))


def _module(operation: Operation) -> Module:
    operations = [
        inner
        for region in operation.regions
        for block in region.blocks
        for inner in block.operations
    ]
    module = assemble(operations)
    name = str(operation.attributes.get("sym_name", ""))
    return module._replace(name=name, attributes=operation.attributes)


def _function(operation: Operation) -> Function:
    attributes = operation.attributes
    types = attributes.get("function_type")
    if not isinstance(types, FunctionType):
        raise UnsupportedError(
            "func.func without a function_type", operation.line, operation.column
        )
    body = operation.regions[0] if operation.regions and operation.regions[0].blocks else None
    if body is not None and not (body.blocks[0].operations or len(body.blocks) > 1):
        body = None
    names = [argument.name for argument in body.blocks[0].arguments] if body is not None else []
    return Function(
        str(attributes.get("sym_name", "")),
        _parameters(types.operands, names, attributes.get("arg_attrs")),
        _parameters(types.results, [], attributes.get("res_attrs")),
        attributes,
        body,
        operation.line,
        operation.column,
    )


def _parameters(
    types: tuple[Type, ...], names: list[str], attributes: Any
) -> tuple[Parameter, ...]:
    stated: tuple[Attributes, ...] = attributes if isinstance(attributes, tuple) else ()
    return tuple(
        Parameter(
            names[position] if position < len(names) else "",
            type,
            stated[position] if position < len(stated) else {},
        )
        for position, type in enumerate(types)
    )
