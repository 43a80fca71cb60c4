"""The parser: text in, syntax tree out, and a mistake told in words at its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Final, cast

from lark import Lark, Token, UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from topos.errors import ParseError
from topos.runtimes._stablehlo import attributes, forms, statements
from topos.runtimes._stablehlo.misread import MisreadError, line_of, placed
from topos.runtimes._stablehlo.syntax import Module
from topos.runtimes._stablehlo.wording import alternatives

__all__ = ["parse"]

# Characters that are refused for want of their counterpart.
_OPEN: Final = {"<": "a '<' without its '>'", '"': "a string without its end"}


def parse(text: str) -> Module:
    """Returns the module that `text` spells; raises `ParseError` at the first mistake."""
    try:
        return cast(Module, _parser().parse(text))
    except UnexpectedInput as error:
        raise _explained(error, text) from None
    except MisreadError as error:
        raise placed(error, text) from None


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    rules = {**attributes.RULES, **forms.RULES, **statements.RULES}
    callbacks = SimpleNamespace(**{name: _spread(rule) for name, rule in rules.items()})
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        maybe_placeholders=True,
        propagate_positions=False,
        # Lark calls whatever carries a rule's name; a Transformer is only the usual such object.
        transformer=cast(Any, callbacks),
    )


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
            names, got = _awaited(error), _shown(error.token.value)
        case UnexpectedCharacters():
            names = {str(name) for name in error.allowed or ()}
            got = _shown(error.char)
    if got == "the end of the text":
        line = text.count("\n") + 1
        column = len(line_of(text, line)) + 1
    return ParseError(
        f"expected {alternatives(names, _literals())}, got {got}", line, column, line_of(text, line)
    )


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
