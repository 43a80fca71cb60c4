"""Aliases: attributes and types that a text names once and uses by that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from topos.runtimes._stablehlo.syntax import (
    Block,
    Crossed,
    Function,
    Opaque,
    Operation,
    OtherType,
    Parameter,
    Region,
    TupleType,
)

__all__ = ["Alias", "resolved"]


class Alias(NamedTuple):
    """A definition; `name` keeps its `#` or `!`. Those of locations are not kept."""

    name: str
    value: Any


def resolved(function: Function, aliases: Mapping[str, Any]) -> Function:
    """Returns `function` with the names in `aliases` replaced by what they stand for."""
    replaced: Function = _part(function, aliases)
    return replaced


def _part(part: Any, aliases: Mapping[str, Any]) -> Any:
    match part:
        case Opaque(text=name) | OtherType(text=name):
            return _part(aliases[name], aliases) if name in aliases else part
        case Function() | Parameter() | Region() | Block() | Operation() | TupleType():
            return type(part)(*[_part(field, aliases) for field in part])
        case dict():
            return {key: _part(value, aliases) for key, value in part.items()}
        case Crossed():
            return Crossed(_part(value, aliases) for value in part)
        case tuple() if type(part) is tuple:
            return tuple([_part(value, aliases) for value in part])
        case _:
            return part
