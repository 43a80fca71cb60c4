"""Reading of attributes and of locations, each of these one line: one function a grammar rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.dimension_numbers import (
    DOT,
    GATHER,
    SCATTER,
    DotNumbers,
    GatherNumbers,
    ScatterNumbers,
    layout,
)
from topos.stablehlo.ir import UNIT, Attributes, Crossed, Dense, Opaque, Record, Type, Typed, Word
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.parser.module import LOCATION
from topos.stablehlo.parser.tokens import (
    dense,
    integer,
    packed,
    sequence,
    stands_alone,
    string,
    symbol,
    typed,
)

_WRAPPED: Final = re.compile(r"\A#sdy<(\w+)(<.*>)>\Z", re.DOTALL)
# The attributes of StableHLO whose fields are integers or lists of them, and these fields.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "#stablehlo.channel_handle<": ("handle", "type"),
    DOT: DotNumbers._fields,
    GATHER: GatherNumbers._fields,
    SCATTER: ScatterNumbers._fields,
}


class _Assigned(tuple[str, Any]):
    """A `key = value` among the fields of a dialect's attribute."""

    __slots__ = ()


class _Fields(tuple[_Assigned, ...]):
    """Fields that are assigned, all of them."""

    __slots__ = ()


def _number(token: Token) -> int | float:
    return float(token.value) if token.type == "FLOAT" else integer(token)


def _word(token: Token) -> Any:
    return {"true": True, "false": False}.get(token.value, Word(token.value))


def _dynamic() -> Word:
    return Word("?")


def _typed_constant(constant: Dense, type: Type) -> Dense:
    return constant.of_type(type)


def _dictionary(*entries: tuple[str, Any, Token]) -> Attributes:
    attributes: dict[str, Any] = {}
    for name, value, key in entries:
        if name in attributes:
            raise TokenError(f"{name} stands twice in a dictionary", key)
        attributes[name] = value
    return attributes


def _entry(key: Token, value: Any) -> tuple[str, Any, Token]:
    name = string(key) if key.type == "STRING" else key.value
    if not name:
        raise TokenError("an attribute has a name, got an empty one", key)
    word = _bare_word(value)
    if word is not None:
        raise TokenError(f"{name} = {word} is no attribute: a word stands alone in none", key)
    return (name, UNIT if value is None else value, key)


def _bare_word(value: Any) -> Word | None:
    """Returns a word that is no type and that no dialect's attribute holds, if there is one.

    Such words stand in custom forms only.
    """
    for part in value if type(value) is tuple else (value,):
        if isinstance(part, Word) and not part.opening and not stands_alone(part):
            return part
    return None


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
        case dict() if not fields:
            return _record(name, opening, fields.items())
        case _Fields():
            return _record(name, opening, fields)
        case Crossed() if opening == "#stablehlo.conv<":
            return layout(name, fields)
    raise TokenError(f"{name.value}...> holds something else", name)


def _record(name: Token, opening: str, fields: Iterable[tuple[str, Any]]) -> Record:
    """Returns the fields in the angle brackets that `opening` opens, each of them once.

    The lists of a product that are left out are empty. Raises `TokenError`.
    """
    stated: dict[str, Any] = {}
    known = _KEYS.get(opening)
    for key, value in fields:
        if key in stated:
            raise TokenError(f"{opening}...> has {key} twice", name)
        if known is not None and key not in known:
            raise TokenError(f"{opening}...> has no {key}, but {', '.join(known)}", name)
        if known is not None and not _numbers(value):
            raise TokenError(f"{opening}...> needs integers as {key}", name)
        stated[key] = value
    if opening == DOT:
        stated = {**dict.fromkeys(_KEYS[DOT], ()), **stated}
    return Record(stated, opening)


def _numbers(value: Any) -> bool:
    """Returns whether a field is an integer or a list of integers, of which some are dynamic."""
    parts = value if type(value) is tuple else (value,)
    return all(type(part) is int or part == "?" for part in parts)


def _fields(*fields: Any) -> Any:
    if all(isinstance(field, _Assigned) for field in fields):
        return _Fields(fields)
    return fields[0] if len(fields) == 1 else fields


def _assigned(key: Token, value: Any) -> _Assigned:
    return _Assigned((key.value, value))


def _angled_fields(fields: Any) -> Any:
    return dict(fields) if isinstance(fields, _Fields) else fields


def _opaque(token: Token, type: Type | None = None) -> Any:
    # `#sdy<mesh<...>>` is another spelling of `#sdy.mesh<...>`.
    text: str = token.value
    if text.startswith("#sdy<"):
        text = _WRAPPED.sub(r"#sdy.\1\2", text)
    return Opaque(text) if type is None else Typed(Opaque(text), type)


def _location(place: str) -> Opaque:
    return LOCATION


def _place(token: Token, child: str | None = None) -> str:
    name = string(token) if token.type == "STRING" else token.value
    return name if child is None else f"{name} ({child})"


def _file(name: Token, line: Token, column: Token, *extent: Any) -> str:
    return f"{string(name)}:{line.value}:{column.value}"


def _unknown() -> str:
    return "unknown"


def _fused(metadata: Any, places: tuple[str, ...] | None) -> str:
    return f"fused[{', '.join(places or ())}]"


def _callsite(callee: str, caller: str) -> str:
    return f"{callee} at {caller}"


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "dictionary": _dictionary,
    "entry": _entry,
    "number": _number,
    "typed": typed,
    "typed_string": Typed,
    "string": string,
    "word": _word,
    "dynamic": _dynamic,
    "symbol": symbol,
    "array": packed,
    "constant": dense,
    "typed_constant": _typed_constant,
    "list": sequence,
    "crossed": _crossed,
    "enclosed": _enclosed,
    "prefixed": _prefixed,
    "wrapped": _wrapped,
    "opaque": _opaque,
    "fields": _fields,
    "assigned": _assigned,
    "angled_fields": _angled_fields,
    "location_attribute": _location,
    "place": _place,
    "file": _file,
    "unknown": _unknown,
    "fused": _fused,
    "callsite": _callsite,
    "places": sequence,
}
