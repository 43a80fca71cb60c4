"""Reading of modules, functions, blocks and operations: one function a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.attributes import integer, string, symbol
from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.module import assemble
from topos.runtimes._stablehlo.spelling import Sentence, Types, operation_of, sentence_of
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Block,
    Function,
    FunctionType,
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


def _alias(name: Token, value: Any) -> None:
    return None


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


def headed(region: Region, arguments: Parameters) -> Region:
    """Returns `region` with `arguments` as those of its entry block."""
    first, *others = region.blocks
    return Region((Block(arguments or first.arguments, first.operations), *others))


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


def _generic(
    name: Token,
    uses: tuple[str, ...] | None,
    properties: Attributes | None,
    regions: tuple[Region, ...] | None,
    attributes: Attributes | None,
    types: FunctionType,
) -> Sentence:
    merged = {**(properties or {}), **(attributes or {})}
    return Sentence(
        name.update(value=string(name)),
        uses or (),
        attributes=merged,
        regions=regions or (),
        types=Types(*types),
        generic=True,
    )


def _uses(*names: Token) -> tuple[str, ...]:
    return tuple([name.value for name in names])


def _listed(name: Token, items: Any, attributes: Attributes | None, types: Types) -> Sentence:
    return sentence_of(name, items or (), attributes or {}, types)


def _led(name: Token, attributes: Attributes, items: Any, types: Types) -> Sentence:
    return sentence_of(name, items, attributes, types)


def _called(
    name: Token, items: Any, clauses: Any, attributes: Attributes | None, types: Types
) -> Sentence:
    return sentence_of(name, (*(items or ()), *(clauses or ())), attributes or {}, types)


def _named(
    name: Token, callee: Token, uses: Any, attributes: Attributes | None, types: Types
) -> Sentence:
    return Sentence(name, uses or (), (symbol(callee),), attributes or {}, types=types)


def _composed(
    name: Token, text: Token, items: Any, attributes: Attributes | None, types: Types
) -> Sentence:
    sentence = sentence_of(name, items or (), attributes or {}, types)
    return sentence._replace(words=(string(text), *sentence.words))


def _reduced_by_name(
    name: Token,
    pairs: tuple[Pair, ...],
    applied: Token,
    clause: tuple[str, Any],
    attributes: Attributes | None,
    types: Types,
) -> Sentence:
    merged = {**dict([clause]), **(attributes or {})}
    return Sentence(name, _operands(pairs), (applied,), merged, types=types)


def _reduced_by_region(
    name: Token,
    pairs: tuple[Pair, ...],
    clause: tuple[str, Any],
    attributes: Attributes | None,
    types: Types,
    groups: tuple[Parameters, ...],
    region: Region,
) -> Sentence:
    # Written as one group an operand; the block takes all the left ones, then all the right ones.
    arguments = (*[group[0] for group in groups], *[group[-1] for group in groups])
    merged = {**dict([clause]), **(attributes or {})}
    regions = (headed(region, arguments),)
    return Sentence(name, _operands(pairs), (), merged, regions, types)


def _operands(pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    return (*[pair[0] for pair in pairs], *[pair[1] for pair in pairs])


def _looped(
    name: Token,
    pairs: tuple[Pair, ...],
    types: Types,
    attributes: Attributes | None,
    condition: Region,
    body: Region,
) -> Sentence:
    if len(types.results) != len(pairs):
        needs = f"{name.value} needs a type for each of its {len(pairs)} values"
        raise MisreadError(f"{needs}, got {len(types.results)}", name)
    arguments = tuple(
        Parameter(pair[0], type, {}) for pair, type in zip(pairs, types.results, strict=True)
    )
    regions = (headed(condition, arguments), headed(body, arguments))
    stated = Types(types.results, types.results)
    return Sentence(name, tuple([pair[1] for pair in pairs]), (), attributes or {}, regions, stated)


def _ranged(name: Token, ranges: tuple[Any, ...] | None) -> tuple[str, Any]:
    return (name.value, ranges or ())


def _clause(key: Token, value: Any) -> tuple[str, Any]:
    return (key.value, value)


def _range(*numbers: Token) -> tuple[int, ...]:
    return tuple([integer(number) for number in numbers])


def _pair(left: Token, right: Token) -> Pair:
    return (left.value, right.value)


def _stated(types: tuple[Type, ...]) -> Types:
    return Types(None, types)


def _functional(operands: tuple[Type, ...], results: tuple[Type, ...]) -> Types:
    return Types(operands, results)


def _stated_function(types: FunctionType) -> Types:
    return Types(*types)


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
    "generic": _generic,
    "regions": _sequence,
    "uses": _uses,
    "listed": _listed,
    "led": _led,
    "called": _called,
    "named": _named,
    "composed": _composed,
    "reduced_by_name": _reduced_by_name,
    "reduced_by_region": _reduced_by_region,
    "looped": _looped,
    "items": _sequence,
    "ranged": _ranged,
    "clause": _clause,
    "ranges": _sequence,
    "range": _range,
    "initialized": _sequence,
    "initial": _pair,
    "carried": _sequence,
    "carry": _pair,
    "reducer_arguments": _sequence,
    "stated": _stated,
    "functional": _functional,
    "stated_function": _stated_function,
}
