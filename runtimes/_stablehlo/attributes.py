"""Reading of attributes, types and locations: one function a grammar rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.misread import MisreadError
from topos.runtimes._stablehlo.syntax import (
    Attributes,
    Crossed,
    Dense,
    FunctionType,
    Opaque,
    OtherType,
    Symbol,
    Tensor,
    TupleType,
    Type,
    Word,
)

__all__ = ["RULES", "integer", "string", "symbol"]

_EXTENT = re.compile(r"\s*(?:(\d{1,18})|\?)\s*x")
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t"}


class _Assigned(tuple[str, Any]):
    """A `key = value` among the fields of a dialect's attribute."""

    __slots__ = ()


def integer(token: Token) -> int:
    """Returns the token's integer, decimal or hexadecimal."""
    if len(token.value) > 100:
        raise MisreadError("an integer is too long to be one", token)
    return int(token.value, 0) if token.type == "HEX" else int(token.value)


def string(token: Token) -> str:
    """Returns what stands between the quotes, with its escapes resolved."""
    text = token.value[1:-1]
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def symbol(token: Token) -> Symbol:
    """Returns the name after the `@`."""
    return Symbol(token.value[1:].strip('"'))


def _escaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _CONTROLS.get(match[2], match[2])


def _number(token: Token) -> int | float:
    return float(token.value) if token.type == "FLOAT" else integer(token)


def _word(token: Token) -> Any:
    return {"true": True, "false": False}.get(token.value, Word(token.value))


def _typed(value: Any, type: Type) -> Any:
    # The type of a scalar attribute adds nothing that an operation reads.
    return value


def _dictionary(*entries: tuple[str, Any]) -> Attributes:
    return dict(entries)


def _entry(key: Token, value: Any) -> tuple[str, Any]:
    # A key that stands alone is a unit attribute, which is true by being there.
    name = string(key) if key.type == "STRING" else key.value
    return (name, True if value is None else value)


def _crossed(*lists: tuple[Any, ...] | None) -> Crossed:
    return Crossed(part for part in lists if part is not None)


def _array(token: Token) -> tuple[Any, ...]:
    element, _, body = token.value[len("array<") : -1].partition(":")
    parts = [part.strip() for part in body.split(",")] if body.strip() else []
    try:
        if element.strip() == "i1":
            return tuple({"true": True, "1": True, "false": False, "0": False}[p] for p in parts)
        return tuple(float(p) if element.strip()[:1] in ("f", "b") else int(p) for p in parts)
    except (KeyError, ValueError):
        raise MisreadError(f"array<{element.strip()}: ...> holds something else", token) from None


def _dense(token: Token, type: Type) -> Dense:
    return Dense(token.value[len("dense<") : -1], type, token.line or 0, token.column or 0)


def _enclosed(name: Token, fields: Any) -> Any:
    # A lone value, such as the layout of a convolution, is not wrapped.
    return {} if fields is None else fields


def _prefixed(name: Token, kind: Token, fields: Any) -> Any:
    # The word names the kind of an enumeration, or a spelling; the fields say the rest.
    return fields


def _fields(*fields: Any) -> Any:
    if all(isinstance(field, _Assigned) for field in fields):
        return dict(fields)
    return fields[0] if len(fields) == 1 else fields


def _assigned(key: Token, value: Any) -> _Assigned:
    return _Assigned((key.value, value))


def _opaque(token: Token) -> Opaque:
    return Opaque(token.value)


def _tensor_type(token: Token) -> Tensor:
    return _tensor(token.value)


@cache
def _tensor(text: str) -> Tensor:
    body = text[len("tensor<") : -1].strip()
    shape: list[int | None] = []
    start = 0
    while match := _EXTENT.match(body, start):
        shape.append(int(match[1]) if match[1] else None)
        start = match.end()
    element, encoding = _split(body[start:])
    return Tensor(tuple(shape), element, encoding)


def _split(text: str) -> tuple[str, str]:
    """Returns the element and the encoding, parted at the first comma outside angle brackets."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            return text[:position].strip(), text[position + 1 :].strip()
    return text.strip(), ""


def _other_type(token: Token) -> OtherType:
    return OtherType(token.value)


def _tuple_type(parts: tuple[Type, ...] | None) -> TupleType:
    return TupleType(parts or ())


def _function_type(operands: tuple[Type, ...] | None, results: tuple[Type, ...]) -> FunctionType:
    return FunctionType(operands or (), results)


def _produced(*results: Any) -> tuple[Type, ...]:
    # The parenthesised list arrives as one plain tuple, the bare type as itself.
    return results[0] if results and type(results[0]) is tuple else results


def _location(place: str) -> str:
    return place


def _place(token: Token, child: str | None = None) -> str:
    name = string(token) if token.type == "STRING" else token.value
    return name if child is None else f"{name} ({child})"


def _file(name: Token, line: Token, column: Token, extent: None) -> str:
    return f"{string(name)}:{line.value}:{column.value}"


def _unknown() -> str:
    return "unknown"


def _fused(metadata: Any, places: tuple[str, ...]) -> str:
    return f"fused[{', '.join(places)}]"


def _callsite(callee: str, caller: str) -> str:
    return f"{callee} at {caller}"


def _nothing(*parts: Any) -> None:
    return None


def _sequence(*parts: Any) -> tuple[Any, ...]:
    return parts


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "dictionary": _dictionary,
    "entry": _entry,
    "number": _number,
    "typed": _typed,
    "string": string,
    "word": _word,
    "symbol": symbol,
    "array": _array,
    "dense": _dense,
    "list": _sequence,
    "crossed": _crossed,
    "enclosed": _enclosed,
    "prefixed": _prefixed,
    "opaque": _opaque,
    "fields": _fields,
    "assigned": _assigned,
    "tensor_type": _tensor_type,
    "other_type": _other_type,
    "tuple_type": _tuple_type,
    "types": _sequence,
    "produced": _produced,
    "function_type": _function_type,
    "location": _location,
    "place": _place,
    "file": _file,
    "unknown": _unknown,
    "fused": _fused,
    "callsite": _callsite,
    "places": _sequence,
    "extent": _nothing,
}
