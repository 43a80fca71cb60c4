"""The parser: text in, syntax tree out, and a mistake told in words at its place."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final, cast

import lark
from lark import Lark, Token, UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.grammar import Rule
from lark.lexer import PatternStr, TerminalDef

from topos.errors import ParseError, UnsupportedError
from topos.stablehlo.ir import Module
from topos.stablehlo.parsed import line_of, told_of
from topos.stablehlo.parser import attributes, forms, shardings, statements, tokens
from topos.stablehlo.parser.spelling import foreign, is_read, twin
from topos.stablehlo.parser.stream import Watch
from topos.stablehlo.parser.wording import alternatives

_OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "lexer": "contextual",
    "maybe_placeholders": True,
    "propagate_positions": False,
}
# What only a process has, and what no reader of the tables needs.
_UNKEPT: Final = ("_plugins", "import_paths", "lexer_callbacks", "postlex", "transformer")
# What stands for a value, whether or not it is a name.
_VALUE: Final = re.compile(r"%[\w$.\-]+")
# An operation opens a statement: at the start of a line, or after the results' equals sign.
_OPENING: Final = re.compile(r"(?:^|=)[ \t]*([A-Za-z_]\w*\.[\w.]+)", re.MULTILINE)
_WINDOW: Final = 4096
_BUILDING: Final = Lock()
# Characters that are refused for want of their counterpart.
_OPEN: Final = {"<": "a '<' without its '>'", '"': "a string without its end"}


def parser_of(grammar: str, tables: bytes, **hooks: Any) -> Lark:
    """Returns the parser of `grammar` with the `hooks` that lark calls.

    `tables` are used where `kept` made them for this text and this release of lark: computing them
    takes longer than all else that a small module needs, from start to result.
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


def parse(text: str) -> Module:
    """Returns the module that `text` spells; raises `ParseError` at the first mistake."""
    with told_of(text):
        # Python 3.11 fails where several threads read the literals of the grammar at once.
        with _BUILDING:
            parser = _parser()
        try:
            return cast(Module, parser.parse(text))
        except UnexpectedInput as error:
            raise _foreign(error, text) or _explained(error, text) from None


@cache
def _parser() -> Lark:
    folder = files(__package__)
    grammar = folder.joinpath("grammar.lark").read_text(encoding="utf-8")
    tables = (attributes, forms, shardings, statements, tokens)
    rules = {name: rule for table in tables for name, rule in table.RULES.items()}
    callbacks = SimpleNamespace(**{name: _spread(rule) for name, rule in rules.items()})
    return parser_of(
        grammar,
        folder.joinpath("grammar.tables").read_bytes(),
        postlex=Watch(),
        lexer_callbacks={"DIALECT": _of_stablehlo},
        # Lark calls whatever carries a rule's name; a Transformer is only the usual such object.
        transformer=callbacks,
    )


def _of_stablehlo(token: Token) -> Token:
    return token.update(value=token.value.replace("#mhlo", "#stablehlo", 1))


def _spread(rule: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    return lambda children: rule(*children)


def _explained(error: UnexpectedInput, text: str) -> ParseError:
    line, column = error.line, error.column
    names: set[str] = set()
    got = "something else"
    match error:
        case UnexpectedEOF():
            names, got = {str(name) for name in error.expected}, "the end of the text"
        case UnexpectedToken(token=Token(type="$END")):
            names, got = _awaited(error), "the end of the text"
        case UnexpectedToken():
            # Punctuation takes the blanks around it.
            value = error.token.value
            column += len(value) - len(value.lstrip(" \t"))
            names, got = _awaited(error), _shown(value.strip(" \t"))
        case UnexpectedCharacters():
            misnamed = _VALUE.match(text, error.pos_in_stream or 0)
            if misnamed:
                reason = "a value is named by a number or a word, such as %0 or %x_1"
                reason = f"{reason}, got {_shown(misnamed[0])}"
                return ParseError(reason, line, column, line_of(text, line))
            # What the lexer looks for is more than what the parser would take.
            parser: Any = error.interactive_parser
            names, got = {str(name) for name in parser.accepts()}, _shown(error.char)
    if got == "the end of the text":
        line = text.count("\n") + 1
        column = len(line_of(text, line)) + 1
    return ParseError(
        f"expected {alternatives(names, _literals())}, got {got}", line, column, line_of(text, line)
    )


def _foreign(error: UnexpectedInput, text: str) -> UnsupportedError | None:
    """Returns the error of an operation whose dialect has forms of its own, or `None`."""
    position = error.pos_in_stream
    if position is None:
        return None
    openings = list(_OPENING.finditer(text, max(0, position - _WINDOW), position))
    if not openings or is_read(twin(openings[-1][1])):
        return None
    name, start = openings[-1][1], openings[-1].start(1)
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    reason = foreign(name)
    return UnsupportedError(reason, line, column, line_of(text, line))


def _awaited(error: UnexpectedToken) -> set[str]:
    return {str(name) for name in error.accepts or error.expected}


def _shown(text: str) -> str:
    return _OPEN.get(text) or repr(text if len(text) <= 40 else f"{text[:37]}...")


@cache
def _literals() -> dict[str, str]:
    """Returns the text of each terminal that is one text."""
    terminals = _parser().terminals
    return {
        terminal.name: terminal.pattern.value
        for terminal in terminals
        if isinstance(terminal.pattern, PatternStr)
    }
