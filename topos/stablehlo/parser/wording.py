"""Wording: what a parser was waiting for, in words instead of the names of terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from topos.stablehlo.dialect.calling import Func


class _Group(NamedTuple):
    """Terminals that together begin one thing, which is named in their place.

    Where all of `telling` are awaited, these and those of `others` are meant by `phrase`.
    """

    phrase: str
    telling: frozenset[str]
    others: frozenset[str]


# What each terminal of the grammar is called where it is missing.
_WORDS: Final = {
    "ALIAS": "an alias such as #loc1",
    "ANGLED": "a sharding such as <@mesh, [{}]>",
    "ARITH": "the name of an operation",
    "ARRAY": "an array such as array<i64: 1>",
    "BLOB": 'digits such as "0x3F"',
    "BLOB_OPENING": "a constant such as dense<1.0>",
    "BLOCK": "a block such as ^bb0",
    "BRACED": 'axes such as {"x"}',
    "CALL": "call",
    "CALL_INDIRECT": "call_indirect",
    "CONSTANT": "constant",
    "DENSE": "a constant such as dense<1.0>",
    "DIALECT": "an attribute such as #stablehlo.gather<...>",
    "FLOAT": "a number",
    "FUNCTION": Func.operation_name,
    "HEX": "a number",
    "INTEGER": "a number",
    "LISTED": "shardings such as [<@mesh, [{}]>]",
    "MODULE": "module",
    "NAME": "the name of an operation",
    "OPAQUE_ATTRIBUTE": "an attribute such as #stablehlo.gather<...>",
    "OTHER_TYPE": "a type such as tensor<2xf32>",
    "RESOURCE": "a constant such as dense<1.0>",
    "RESOURCES": "a section of resources such as {-# #-}",
    "RETURN": "return",
    "SHARDY": "the name of an operation",
    "STRING": 'a string in "quotes"',
    "SYMBOL": "a function's name such as @main",
    "TENSOR": "a type such as tensor<2xf32>",
    "TYPE_ALIAS": "a type such as tensor<2xf32>",
    "VALUE": "a value such as %0",
    "VISIBILITY": "public or private",
    "WORD": "a word",
    "_ARROW": "'->'",
    "_COLON": "':'",
    "_COMMA": "','",
    "_EQUALS": "'='",
    "_TUPLE": "a type such as tensor<2xf32>",
    "$END": "the end of the text",
}
_TYPE: Final = frozenset({"OTHER_TYPE", "TENSOR", "TYPE_ALIAS", "WORD", "_TUPLE"})
_LITERAL: Final = frozenset({"ARRAY", "DENSE", "DIALECT", "FLOAT", "INTEGER", "STRING"})
_COMPOUND: Final = frozenset(
    {
        "ALIAS",
        "BLOB_OPENING",
        "HEX",
        "LBRACE",
        "LOC",
        "LPAR",
        "LSQB",
        "NAME",
        "OPAQUE_ATTRIBUTE",
        "QMARK",
        "RESOURCE",
        "SYMBOL",
    }
)
_CLAUSE: Final = frozenset({"FLOAT", "INTEGER", "LESSTHAN", "STRING", "WORD"})
_BESIDE_CLAUSE: Final = frozenset({"DIALECT", "HEX", "LBRACE", "LSQB", "NAME", "OPAQUE_ATTRIBUTE"})
_OPERAND: Final = frozenset({"DENSE", "VALUE", "WORD", "_COLON"})
_BESIDE_OPERAND: Final = frozenset(
    {"BLOB_OPENING", "LBRACE", "LPAR", "LSQB", "RESOURCE", "STRING", "SYMBOL", "_COMMA"}
)
_BESIDE_FUNCTIONS: Final = frozenset(
    {"ALIAS", "NAME", "RESOURCES", "STRING", "TYPE_ALIAS", "VALUE"}
)
_BESIDE_RETURN: Final = frozenset(
    {"ARITH", "CALL", "CALL_INDIRECT", "CONSTANT", "SHARDY", "STRING"}
)
_GROUPS: Final = (
    _Group("an attribute", _LITERAL, _COMPOUND | _TYPE),
    _Group("a number, a word, a string or a list", _CLAUSE, _BESIDE_CLAUSE),
    _Group("an operation", frozenset({"NAME", "RETURN", "VALUE"}), _BESIDE_RETURN),
    _Group("operands, attributes or a type", _OPERAND, _BESIDE_OPERAND),
    _Group("a type such as tensor<2xf32>", frozenset({"TENSOR", "_TUPLE"}), _TYPE),
    _Group(
        'a location such as "f.py":1:2',
        frozenset({"CALLSITE", "FUSED", "UNKNOWN"}),
        frozenset({"ALIAS", "OPAQUE_ATTRIBUTE", "STRING"}),
    ),
    _Group("a function or a module", frozenset({"FUNCTION", "MODULE"}), _BESIDE_FUNCTIONS),
)
# How only casts, shardings and calls of a value go on, where any other operation may stand.
_ODD: Final = frozenset({"ANGLED", "TO"})
_BESIDE_ODD: Final = frozenset({"LPAR"})
# Beyond this many alternatives a list of them explains nothing.
_LISTED: Final = 6


def alternatives(names: set[str], literals: Mapping[str, str]) -> str:
    """Returns the terminals called `names` as a phrase; those in `literals` are quoted."""
    phrases: set[str] = set()
    if not _ODD.isdisjoint(names):
        names = names - _ODD - _BESIDE_ODD or names
    for group in _GROUPS:
        if group.telling <= names:
            phrases.add(group.phrase)
            names = names - group.telling - group.others
    phrases |= {_WORDS.get(name) or repr(literals.get(name, name.lower())) for name in names}
    listed = sorted(phrases)
    if not listed or len(listed) > _LISTED:
        return "something else"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"
