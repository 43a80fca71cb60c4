"""Reading of the forms that shardings are written in, kept as they are: one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.runtimes._stablehlo.forms import headed
from topos.runtimes._stablehlo.spelling import Sentence, Types, sentence_of
from topos.runtimes._stablehlo.syntax import Attributes, Opaque, Operation, Parameter, Region
from topos.runtimes._stablehlo.tokens import symbol

__all__ = ["RULES"]

Parameters = tuple[Parameter, ...]


def _declaration(
    keyword: Token,
    name: Token,
    value: Token,
    attributes: Attributes | None,
    location: str | None,
) -> Operation:
    kind = keyword.value.rpartition(".")[2]
    stated = {
        "sym_name": str(symbol(name)),
        kind: Opaque(f"#{keyword.value}{value.value}"),
        **(attributes or {}),
    }
    line, column = keyword.line or 0, keyword.column or 0
    return Operation(keyword.value, (), (), stated, (), (), (), line, column, location or "")


def _sharded(
    name: Token, items: Any, sharding: Token, attributes: Attributes | None, types: Types
) -> Sentence:
    merged = {"sharding": Opaque(f"#sdy.sharding{sharding.value}"), **(attributes or {})}
    return sentence_of(name, items, merged, types)


def _manual(
    name: Token,
    items: Any,
    inputs: Token,
    outputs: Token,
    axes: Token,
    arguments: Parameters | None,
    region: Region,
    attributes: Attributes | None,
    types: Types,
) -> Sentence:
    merged = {
        "in_shardings": Opaque(f"#sdy.sharding_per_value<{inputs.value}>"),
        "out_shardings": Opaque(f"#sdy.sharding_per_value<{outputs.value}>"),
        "manual_axes": Opaque(f"#sdy.manual_axes{axes.value}"),
        **(attributes or {}),
    }
    sentence = sentence_of(name, items or (), merged, types)
    return sentence._replace(regions=(headed(region, arguments or ()),))


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "declaration": _declaration,
    "sharded": _sharded,
    "manual": _manual,
}
