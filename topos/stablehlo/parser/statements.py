"""Reading of modules, functions, blocks and operations: one function a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.errors import UnsupportedError
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Attributes,
    Block,
    Function,
    Module,
    Operation,
    Parameter,
    Region,
    Type,
)
from topos.stablehlo.parsed import Group, ParsedOperation, TokenError, Types, place_of
from topos.stablehlo.parser.aliases import Alias
from topos.stablehlo.parser.forms import headed
from topos.stablehlo.parser.module import MODULE, Inner, Section, assemble, whole
from topos.stablehlo.parser.spelling import canonical, demand_read, operation_of
from topos.stablehlo.parser.tokens import integer, sequence, symbol

Pair = tuple[str, str]
Parameters = tuple[Parameter, ...]


def _start(*parts: Any) -> Module:
    return whole(parts)


def _module(keyword: Token, name: Token | None, attributes: Attributes | None, *rest: Any) -> Inner:
    *parts, _ = rest
    for part in parts:
        wrapped = isinstance(part, Operation) and part.name == MODULE
        if wrapped or isinstance(part, Inner):
            raise UnsupportedError("a module inside another", part.line, part.column)
    stated = assemble(parts)._replace(
        name=str(symbol(name)) if name else "", attributes=attributes or {}
    )
    return Inner(stated, *place_of(keyword))


def _section(token: Token) -> Section:
    return Section(token.value, *place_of(token))


def _alias(name: Token, value: Any) -> Alias:
    return Alias(name.value, value, *place_of(name))


def _function(
    keyword: Token,
    visibility: Token | None,
    name: Token,
    arguments: Parameters | None,
    results: Parameters | None,
    attributes: Attributes | None,
    body: Region | None,
    location: str | None,
) -> Function:
    names = [argument.name for argument in arguments or ()]
    if not all(names) and (any(names) or body is not None):
        raise TokenError(
            "arguments of a function need a name each, or none where it has no body", name
        )
    stated = dict(attributes or {})
    if visibility is not None:
        stated["sym_visibility"] = visibility.value
    if body is not None:
        body = headed(body, arguments or ())
    line, column = place_of(keyword)
    return Function(str(symbol(name)), arguments or (), results or (), stated, body, line, column)


def _parameter(
    name: Token, type: Type, attributes: Attributes | None, location: str | None
) -> Parameter:
    _demand_undivided(name)
    return Parameter(name.value, type, attributes or {})


def _unnamed(type: Type, attributes: Attributes | None = None, location: Any = None) -> Parameter:
    return Parameter("", type, attributes or {})


def _single_outcome(type: Type) -> Parameters:
    return (_unnamed(type),)


def _region(operations: tuple[Operation, ...], *blocks: Block) -> Region:
    # A region opens with a label or without one; what stands before a leading label is empty.
    if operations:
        return Region((Block((), operations), *blocks))
    if not blocks:
        return Region(())
    return Region((blocks[0]._replace(label=""), *blocks[1:]))


def _block(label: Token, arguments: Parameters | None, operations: Any) -> Block:
    return Block(arguments or (), operations, label.value)


def _custom_statement(
    results: tuple[Group, ...] | None, parsed: ParsedOperation, location: str | None
) -> Operation:
    demand_read(parsed.name)
    definition = find(parsed.name.value)
    if definition is not None:
        parsed = definition.read(parsed)
    return operation_of(parsed, results or (), location or "")


def _generic_statement(
    results: tuple[Group, ...] | None, parsed: ParsedOperation, location: str | None
) -> Operation:
    return operation_of(parsed, results or (), location or "")


def _result(name: Token, count: Token | None = None) -> Group:
    _demand_undivided(name)
    number = 1 if count is None else integer(count)
    if not 1 <= number <= 9999:
        raise TokenError("a count of results lies between 1 and 9999", count or name)
    return (name.value, number)


def _demand_undivided(name: Token) -> None:
    """Refuses `%0#1`, which uses a part of what `%0:2` names, where a value gets its name."""
    if "#" in name:
        raise TokenError(f"a value is named without '#', got {str(name)!r}", name)


def _return_nothing(
    keyword: Token, attributes: Attributes | None, location: str | None
) -> Operation:
    parsed = ParsedOperation(canonical(keyword), attributes=attributes or {}, types=Types((), ()))
    return operation_of(parsed, (), location or "")


def _return_statement(
    keyword: Token,
    leading: Attributes | None,
    uses: tuple[str, ...],
    trailing: Attributes | None,
    types: tuple[Type, ...],
    location: str | None,
) -> Operation:
    attributes = {**(leading or {}), **(trailing or {})}
    parsed = ParsedOperation(canonical(keyword), uses, (), attributes, types=Types(types, ()))
    return operation_of(parsed, (), location or "")


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "start": _start,
    "module": _module,
    "section": _section,
    "alias": _alias,
    "function": _function,
    "parameters": sequence,
    "parameter": _parameter,
    "unnamed_parameter": _unnamed,
    "outcomes": sequence,
    "single_outcome": _single_outcome,
    "outcome": _unnamed,
    "region": _region,
    "operations": sequence,
    "block": _block,
    "custom_statement": _custom_statement,
    "generic_statement": _generic_statement,
    "results": sequence,
    "result": _result,
    "return_nothing": _return_nothing,
    "return_statement": _return_statement,
}
