"""Reading of the forms that shardings are written in, kept as they are: one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.errors import UnsupportedError
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Attributes, Opaque, Operation, Parameter, Region, Word
from topos.stablehlo.parsed import ParsedOperation, Said, Types, place_of
from topos.stablehlo.parser.forms import headed
from topos.stablehlo.parser.spelling import operation_of
from topos.stablehlo.parser.tokens import integer, sequence, string, symbol
from topos.stablehlo.traits import Trait

Parameters = tuple[Parameter, ...]


def _value(token: Token) -> Any:
    """Returns a number, a word, an attribute in full, or the spelling of one in brackets."""
    match token.type:
        case "ALIAS" | "OPAQUE_ATTRIBUTE":
            return Opaque(token.value)
        case "INTEGER":
            return integer(token)
        case "WORD":
            return Word(token.value)
    return str(token.value)


def _declaration(
    keyword: Token,
    name: Token,
    value: Token,
    attributes: Attributes | None,
    location: str | None,
) -> Operation:
    definition = find(keyword.value)
    if definition is None or Trait.DECLARATION not in definition.traits:
        raise UnsupportedError(f"{keyword.value} outside a function", *place_of(keyword))
    words = (symbol(name), Said("", _value(value)))
    parsed = ParsedOperation(keyword, (), words, attributes or {}, types=Types((), ()))
    return operation_of(definition.read(parsed), (), location or "")


def _sharding(key: Token, value: Token) -> Said:
    return Said(key.value, _value(value))


def _annotated(
    name: Token,
    leading: Token | None,
    operand: Token,
    following: Token | Said | None,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    words: list[Said] = []
    if leading is not None:
        words.append(Said("", _value(leading), leads=True))
    if isinstance(following, Said):
        words.append(following)
    elif following is not None:
        words.append(Said("", _value(following)))
    return ParsedOperation(name, (operand.value,), tuple(words), attributes or {}, types=types)


def _manual(
    name: Token,
    called: Token | None,
    uses: tuple[str, ...] | None,
    stated: tuple[Said, ...],
    arguments: Parameters | None,
    region: Region,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    words = stated if called is None else (_called(called), *stated)
    regions = (headed(region, arguments or ()),)
    return ParsedOperation(name, uses or (), words, attributes or {}, regions, types)


def _called(token: Token) -> Any:
    """Returns the name in quotes that stands in angle brackets, or these as they are."""
    text = token.value[1:-1].strip()
    if len(text) < 2 or {text[0], text[-1]} != {'"'}:
        return Said("", token.value)
    return string(token.update(value=text))


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "annotated": _annotated,
    "declaration": _declaration,
    "manual": _manual,
    "sharding": _sharding,
    "shardings": sequence,
}
