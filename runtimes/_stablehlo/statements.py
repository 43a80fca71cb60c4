"""Reading of modules, functions, blocks and operations: one function a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.aliases import Alias
from topos.runtimes._stablehlo.attributes import integer, symbol
from topos.runtimes._stablehlo.forms import headed
from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.module import assemble
from topos.runtimes._stablehlo.spelling import Sentence, Types, operation_of
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Block,
    Function,
    Module,
    Operation,
    Parameter,
    Region,
    Type,
)

__all__ = ["RULES"]

Pair = tuple[str, str]
Parameters = tuple[Parameter, ...]


def _start(*parts: Any) -> Module:
    return assemble(parts)


def _module(name: Token | None, attributes: Attributes | None, *rest: Any) -> Module:
    *parts, _ = rest
    module = assemble(parts)
    return module._replace(name=symbol(name) if name else "", attributes=attributes or {})


def _alias(name: Token, value: Any) -> Alias:
    return Alias(name.value, value)


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
    if body is not None:
        body = headed(body, arguments or ())
    line, column = keyword.line or 0, keyword.column or 0
    return Function(
        symbol(name), arguments or (), results or (), attributes or {}, body, line, column
    )


def _parameter(
    name: Token, type: Type, attributes: Attributes | None, location: str | None
) -> Parameter:
    return Parameter(name.value, type, attributes or {})


def _unnamed(type: Type, attributes: Attributes | None = None, location: Any = None) -> Parameter:
    return Parameter("", type, attributes or {})


def _single_outcome(type: Type) -> Parameters:
    return (_unnamed(type),)


def _region(operations: tuple[Operation, ...], *blocks: Block) -> Region:
    # A region opens with a label or without one; what stands before a leading label is empty.
    if operations or not blocks:
        return Region((Block((), operations), *blocks))
    return Region(blocks)


def _block(label: Token, arguments: Parameters | None, operations: Any) -> Block:
    return Block(arguments or (), operations)


def _statement(
    results: tuple[str, ...] | None, sentence: Sentence, location: str | None
) -> Operation:
    return operation_of(sentence, results or (), location or "")


def _results(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return groups[0] if len(groups) == 1 else tuple(name for group in groups for name in group)


def _result(name: Token, count: Token | None = None) -> tuple[str, ...]:
    if count is None:
        return (name.value,)
    number = integer(count)
    if not 1 <= number <= 9999:
        raise MisreadError("a count of results lies between 1 and 9999", count)
    if number == 1:
        return (name.value,)
    return tuple(f"{name.value}#{position}" for position in range(number))


def _return_nothing(
    keyword: Token, attributes: Attributes | None, location: str | None
) -> Operation:
    return operation_of(Sentence(keyword, types=Types((), ())), (), location or "")


def _return_statement(
    keyword: Token,
    uses: tuple[str, ...],
    attributes: Attributes | None,
    types: tuple[Type, ...],
    location: str | None,
) -> Operation:
    return operation_of(Sentence(keyword, uses, types=Types(types, ())), (), location or "")


def _sequence(*parts: Any) -> tuple[Any, ...]:
    return parts


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "start": _start,
    "module": _module,
    "alias": _alias,
    "function": _function,
    "parameters": _sequence,
    "parameter": _parameter,
    "unnamed_parameter": _unnamed,
    "outcomes": _sequence,
    "single_outcome": _single_outcome,
    "outcome": _unnamed,
    "region": _region,
    "operations": _sequence,
    "block": _block,
    "pretty_statement": _statement,
    "generic_statement": _statement,
    "results": _results,
    "result": _result,
    "return_nothing": _return_nothing,
    "return_statement": _return_statement,
}
