"""Reading of locations, each as one line of words: one function a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import Opaque
from topos.stablehlo.parser.module import LOCATION
from topos.stablehlo.parser.tokens import string

__all__ = ["RULES"]


def _location(place: str) -> str:
    return place


def _attribute(place: str) -> Opaque:
    return LOCATION


def _place(token: Token, child: str | None = None) -> str:
    name = string(token) if token.type == "STRING" else token.value
    return name if child is None else f"{name} ({child})"


def _file(name: Token, line: Token, column: Token, extent: None) -> str:
    return f"{string(name)}:{line.value}:{column.value}"


def _unknown() -> str:
    return "unknown"


def _fused(metadata: Any, places: tuple[str, ...] | None) -> str:
    return f"fused[{', '.join(places or ())}]"


def _callsite(callee: str, caller: str) -> str:
    return f"{callee} at {caller}"


def _places(*parts: str) -> tuple[str, ...]:
    return parts


def _extent(*numbers: Any) -> None:
    return None


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "location": _location,
    "location_attribute": _attribute,
    "place": _place,
    "file": _file,
    "unknown": _unknown,
    "fused": _fused,
    "callsite": _callsite,
    "places": _places,
    "extent": _extent,
}
