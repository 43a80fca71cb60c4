"""Reading of attributes: one function a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.syntax import (
    UNIT,
    Attributes,
    Crossed,
    Opaque,
    Record,
    Type,
    Typed,
    Word,
)
from topos.runtimes._stablehlo.tokens import dense, integer, packed, string, symbol, typed

__all__ = ["RULES"]


class _Assigned(tuple[str, Any]):
    """A `key = value` among the fields of a dialect's attribute."""

    __slots__ = ()


def _number(token: Token) -> int | float:
    return float(token.value) if token.type == "FLOAT" else integer(token)


def _word(token: Token) -> Any:
    return {"true": True, "false": False}.get(token.value, Word(token.value))


def _typed_string(value: str, type: Type) -> Typed:
    return Typed(value, type)


def _dictionary(*entries: tuple[str, Any]) -> Attributes:
    return dict(entries)


def _entry(key: Token, value: Any) -> tuple[str, Any]:
    name = string(key) if key.type == "STRING" else key.value
    return (name, UNIT if value is None else value)


def _crossed(*lists: tuple[Any, ...] | None) -> Crossed:
    return Crossed(part for part in lists if part is not None)


def _enclosed(name: Token, fields: Any) -> Any:
    return _owned(name, name.value, fields)


def _prefixed(name: Token, kind: Token, fields: Any) -> Any:
    return _owned(name, f"{name.value}{kind.value} ", fields)


def _wrapped(name: Token, kind: Token, fields: Any) -> Any:
    # `#stablehlo<dot<...>>` is another spelling of `#stablehlo.dot<...>`.
    return _owned(name, f"{name.value[:-1]}.{kind.value}<", fields)


def _owned(name: Token, opening: str, fields: Any) -> Any:
    """Returns the attribute of a dialect: named fields, a word, or a convolution's layout."""
    match fields:
        case None:
            return Record({}, opening)
        case Word():
            return Word(fields, opening)
        case dict():
            return Record(fields, opening)
        case Crossed() if opening == "#stablehlo.conv<":
            return fields
    raise MisreadError(f"{name.value}...> holds something else", name)


def _fields(*fields: Any) -> Any:
    if all(isinstance(field, _Assigned) for field in fields):
        return dict(fields)
    return fields[0] if len(fields) == 1 else fields


def _assigned(key: Token, value: Any) -> _Assigned:
    return _Assigned((key.value, value))


def _opaque(token: Token, type: Type | None = None) -> Any:
    return Opaque(token.value) if type is None else Typed(Opaque(token.value), type)


def _sequence(*parts: Any) -> tuple[Any, ...]:
    return parts


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "dictionary": _dictionary,
    "entry": _entry,
    "number": _number,
    "typed": typed,
    "typed_string": _typed_string,
    "string": string,
    "word": _word,
    "symbol": symbol,
    "array": packed,
    "dense": dense,
    "resource": dense,
    "list": _sequence,
    "crossed": _crossed,
    "enclosed": _enclosed,
    "prefixed": _prefixed,
    "wrapped": _wrapped,
    "opaque": _opaque,
    "fields": _fields,
    "assigned": _assigned,
}
