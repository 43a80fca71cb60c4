"""Reading of the forms an operation is written in, generic and pretty: one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.attributes import integer, string, symbol
from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.spelling import Sentence, Types, sentence_of
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Block,
    FunctionType,
    Parameter,
    Region,
    Type,
)

__all__ = ["RULES", "headed"]

Pair = tuple[str, str]
Parameters = tuple[Parameter, ...]


def headed(region: Region, arguments: Parameters) -> Region:
    """Returns `region` with `arguments` as those of its entry block."""
    first, *others = region.blocks
    return Region((Block(arguments or first.arguments, first.operations), *others))


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
    pairs: tuple[Pair, ...] | None,
    types: Types | None,
    attributes: Attributes | None,
    condition: Region,
    body: Region,
) -> Sentence:
    carried, stated = pairs or (), types.results if types else ()
    if len(stated) != len(carried):
        needs = f"{name.value} needs a type for each of its {len(carried)} values"
        raise MisreadError(f"{needs}, got {len(stated)}", name)
    arguments = tuple(
        Parameter(pair[0], type, {}) for pair, type in zip(carried, stated, strict=True)
    )
    regions = (headed(condition, arguments), headed(body, arguments))
    operands = tuple([pair[1] for pair in carried])
    return Sentence(name, operands, (), attributes or {}, regions, Types(stated, stated))


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
