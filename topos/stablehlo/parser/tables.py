"""The tables of the parser: read where they were kept for its grammar, or else computed.

Computing them takes longer than all else that a small module needs, from start to result.
"""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import Any, Final, cast

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

__all__ = ["described", "kept", "parser_of"]

_OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "lexer": "contextual",
    "maybe_placeholders": True,
    "propagate_positions": False,
}
# What only a process has, and what no reader of the tables needs.
_UNKEPT: Final = ("_plugins", "import_paths", "lexer_callbacks", "postlex", "transformer")


def parser_of(grammar: str, tables: bytes, **hooks: Any) -> Lark:
    """Returns the parser of `grammar` with the `hooks` that lark calls.

    `tables` are used where `kept` made them for this text and this release of lark.
    """
    head, _, body = tables.partition(b"\n")
    if head.decode() != described(grammar):
        return Lark(grammar, **_OPTIONS, **hooks)
    data, memo = json.loads(zlib.decompress(body))
    # JSON has turned numbers that are keys into texts; those of tokens may stay such.
    memo = {int(key): each for key, each in memo.items()}
    table = data["parser"]["parser"]
    table["states"] = {int(key): actions for key, actions in table["states"].items()}
    # Lark's own generated parsers start with this method.
    parser: Lark = cast(Any, Lark)._load_from_dict(data, memo, **hooks)
    return parser


def kept(grammar: str) -> bytes:
    """Returns the tables of `grammar`: a line that tells what they are of, then their bytes."""
    data, memo = Lark(grammar, **_OPTIONS).memo_serialize([TerminalDef, Rule])
    options = {key: value for key, value in data["options"].items() if key not in _UNKEPT}
    text = json.dumps([{**data, "options": options}, memo], separators=(",", ":"))
    return f"{described(grammar)}\n".encode() + zlib.compress(text.encode(), 9)


def described(grammar: str) -> str:
    """Returns the first line of the tables that `kept` would make of `grammar` here."""
    return f"lark {lark.__version__} {sha256(grammar.encode()).hexdigest()}"
