"""Reading of the forms an operation is written in, generic and custom: one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import (
    Attributes,
    Block,
    FunctionType,
    OtherType,
    Packed,
    Parameter,
    Region,
    Type,
    constant_type,
)
from topos.stablehlo.parsed import ParsedOperation, TokenError, Types
from topos.stablehlo.parser.spelling import MHLO, as_arrays, attribute_of, canonical, parsed_of
from topos.stablehlo.parser.tokens import integer, sequence, string, symbol

Pair = tuple[str, str]
Parameters = tuple[Parameter, ...]


def headed(region: Region, arguments: Parameters) -> Region:
    """Returns `region` with `arguments` as those of its entry block."""
    if not region.blocks:
        return Region((Block(arguments, ()),))
    first, *others = region.blocks
    return Region((Block(arguments or first.arguments, first.operations), *others))


def _generic(
    name: Token,
    uses: tuple[str, ...] | None,
    successors: tuple[str, ...] | None,
    properties: Attributes | None,
    regions: tuple[Region, ...] | None,
    attributes: Attributes | None,
    types: FunctionType,
) -> ParsedOperation:
    merged = {**(properties or {}), **(attributes or {})}
    name = Token.new_borrow_pos(name.type, string(name), name)
    if name.startswith(MHLO):
        name = canonical(name)
        merged = as_arrays(name.value, merged)
    stated = Types(*types)
    return ParsedOperation(name, uses or (), (), merged, regions or (), stated, successors or ())


def _values(*names: Token) -> tuple[str, ...]:
    return tuple([name.value for name in names])


def _led(name: Token, attributes: Attributes, items: Any, types: Types) -> ParsedOperation:
    return parsed_of(name, items, attributes, types)


def _called(
    name: Token,
    items: Any,
    clauses: Any,
    properties: Attributes | None,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    merged = {**(properties or {}), **(attributes or {})}
    return parsed_of(name, (*(items or ()), *(clauses or ())), merged, types)


def _emptied(name: Token, attributes: Attributes | None = None) -> ParsedOperation:
    return ParsedOperation(name, attributes=attributes or {}, types=Types((), ()))


def _named(
    name: Token, callee: Token, uses: Any, attributes: Attributes | None, types: Types
) -> ParsedOperation:
    return ParsedOperation(name, uses or (), (symbol(callee),), attributes or {}, types=types)


def _referred(
    name: Token, target: Token, attributes: Attributes | None, type: FunctionType
) -> ParsedOperation:
    types = Types((), (OtherType(str(type)),))
    return ParsedOperation(name, (), (symbol(target),), attributes or {}, types=types)


def _indirect(
    name: Token, callee: Token, uses: Any, attributes: Attributes | None, types: Types
) -> ParsedOperation:
    # The type that is stated is the callee's, which is itself the first operand.
    operands = types.operands or ()
    function = OtherType(str(FunctionType(operands, types.results)))
    stated = Types((function, *operands), types.results)
    return ParsedOperation(name, (callee.value, *(uses or ())), (), attributes or {}, types=stated)


def _composed(
    name: Token,
    text: Token,
    items: Any,
    regions: tuple[Region, ...] | None,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    parsed = parsed_of(name, items, attributes, types)
    words = (string(text), *parsed.words)
    return parsed._replace(words=words, regions=regions or ())


def _valued(name: Token, attributes: Attributes | None, value: Any) -> ParsedOperation:
    type = constant_type(value)
    if type is None:
        raise TokenError(f"{name.value} is not written with {value}", name)
    merged = {"value": value, **(attributes or {})}
    return ParsedOperation(name, attributes=merged, types=Types((), (type,)))


def _cast(
    name: Token,
    items: Any,
    operands: tuple[Type, ...] | None,
    results: tuple[Type, ...],
    attributes: Attributes | None,
) -> ParsedOperation:
    return parsed_of(name, items, attributes, Types(operands or (), results))


def _reduced_by_name(
    name: Token,
    pairs: tuple[Pair, ...],
    applied: Token,
    clause: tuple[str, Any],
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    merged = {**(attributes or {}), **dict([attribute_of(name, *clause)])}
    return ParsedOperation(name, _operands(pairs), (canonical(applied),), merged, types=types)


def _reduced_by_region(
    name: Token,
    pairs: tuple[Pair, ...],
    clause: tuple[str, Any],
    attributes: Attributes | None,
    types: Types,
    groups: tuple[Parameters, ...],
    region: Region,
) -> ParsedOperation:
    if any(len(group) != 2 for group in groups):
        raise TokenError("a reducer takes two arguments for each operand", name)
    # Written as one group an operand; the block takes all the left ones, then all the right ones.
    arguments = (*[group[0] for group in groups], *[group[1] for group in groups])
    merged = {**(attributes or {}), **dict([attribute_of(name, *clause)])}
    regions = (headed(region, arguments),)
    return ParsedOperation(name, _operands(pairs), (), merged, regions, types)


def _operands(pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    return (*[pair[0] for pair in pairs], *[pair[1] for pair in pairs])


def _looped(
    name: Token,
    pairs: tuple[Pair, ...] | None,
    types: Types | None,
    attributes: Attributes | None,
    condition: Region,
    body: Region,
) -> ParsedOperation:
    carried, stated = pairs or (), types.results if types else ()
    if len(stated) != len(carried):
        needs = f"{name.value} needs a type for each of its {len(carried)} values"
        raise TokenError(f"{needs}, got {len(stated)}", name)
    arguments = tuple(
        Parameter(pair[0], type, {}) for pair, type in zip(carried, stated, strict=True)
    )
    regions = (headed(condition, arguments), headed(body, arguments))
    operands = tuple([pair[1] for pair in carried])
    return ParsedOperation(name, operands, (), attributes or {}, regions, Types(stated, stated))


def _scanned(
    name: Token,
    operands: Any,
    starts: Any,
    clauses: Any,
    attributes: Attributes | None,
    region: Region,
    types: Types,
) -> ParsedOperation:
    inputs, initial = operands or (), starts or ()
    carried = len(initial)
    # Which operands are scanned and which are carried, only the place in the text tells.
    segments = {
        "operandSegmentSizes": Packed((len(inputs), carried), "i32"),
        "resultSegmentSizes": Packed((len(types.results) - carried, carried), "i32"),
    }
    merged = {**(attributes or {}), **segments}
    parsed = parsed_of(name, (*inputs, *initial, *clauses), merged, types)
    return parsed._replace(regions=(region,))


def _keyed(key: Token, value: Any) -> tuple[str, Any]:
    return (key.value, value)


def _range(*numbers: Token) -> tuple[int, ...]:
    return tuple([integer(number) for number in numbers])


def _pair(left: Token, right: Token) -> Pair:
    return (left.value, right.value)


def _stated(types: tuple[Type, ...]) -> Types:
    return Types(None, types)


def _stated_function(types: FunctionType) -> Types:
    return Types(*types)


def _of_twin(form: Callable[..., ParsedOperation]) -> Callable[..., ParsedOperation]:
    """Returns `form` for the name that an operation has in StableHLO."""
    return lambda name, *parts: form(canonical(name), *parts)


_CUSTOM: Final[Mapping[str, Callable[..., ParsedOperation]]] = {
    "listed": parsed_of,
    "led": _led,
    "called": _called,
    "named": _named,
    "referred": _referred,
    "indirect": _indirect,
    "composed": _composed,
    "cast": _cast,
    "emptied": _emptied,
    "scanned": _scanned,
    "reduced_by_name": _reduced_by_name,
    "reduced_by_region": _reduced_by_region,
    "looped": _looped,
}
RULES: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: _of_twin(form) for name, form in _CUSTOM.items()},
    "generic": _generic,
    "regions": sequence,
    "successors": _values,
    "uses": _values,
    "valued": _valued,
    "items": sequence,
    "ranged": _keyed,
    "clause": _keyed,
    "ranges": sequence,
    "range": _range,
    "initialized": sequence,
    "initial": _pair,
    "carried": sequence,
    "carry": _pair,
    "reducer_arguments": sequence,
    "stated": _stated,
    "functional": Types,
    "stated_function": _stated_function,
}
