"""The attributes of StableHLO that have fields or lists of their own, held to their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.dimension_numbers import (
    DOT,
    GATHER,
    SCATTER,
    DotNumbers,
    GatherNumbers,
    ScatterNumbers,
)
from topos.stablehlo.ir import Record
from topos.stablehlo.token_error import TokenError

__all__ = ["record"]

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "#stablehlo.channel_handle<": ("handle", "type"),
    DOT: DotNumbers._fields,
    GATHER: GatherNumbers._fields,
    SCATTER: ScatterNumbers._fields,
}


def record(name: Token, opening: str, fields: Iterable[tuple[str, Any]]) -> Record:
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
