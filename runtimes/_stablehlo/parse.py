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

__all__ = ["parse"]

# What each terminal of the grammar is called where it is missing.
_WORDS: Final[dict[str, str]] = {
    "ALIAS": "an alias such as #loc1",
    "ARRAY": "an array such as array<i64: 1>",
    "BLOCK": "a block such as ^bb0",
    "DENSE": "a constant such as dense<1.0>",
    "DIALECT": "an attribute such as #stablehlo.gather<...>",
    "FLOAT": "a number",
    "HEX": "a number",
    "INTEGER": "a number",
    "NAME": "an operation",
    "OPAQUE_ATTRIBUTE": "an attribute such as #stablehlo.gather<...>",
    "OTHER_TYPE": "a type such as tensor<2xf32>",
    "RETURN": "return",
    "STRING": 'a string in "quotes"',
    "SYMBOL": "a function's name such as @main",
    "TENSOR": "a type such as tensor<2xf32>",
    "TYPE_ALIAS": "a type such as tensor<2xf32>",
    "VISIBILITY": "public or private",
    "_TUPLE": "a type such as tensor<2xf32>",
    "FUNCTION": "func.func",
    "VALUE": "a value such as %0",
    "WORD": "a word",
    "$END": "the end of the text",
}
# Beyond this many alternatives a list of them explains nothing.
_LISTED: Final = 5


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
            names, got = _awaited(error), repr(_short(error.token.value))
        case UnexpectedCharacters():
            names, got = {str(name) for name in error.allowed or ()}, repr(error.char)
    if got == "the end of the text":
        line = text.count("\n") + 1
        column = len(line_of(text, line)) + 1
    return ParseError(f"expected {_listed(names)}, got {got}", line, column, line_of(text, line))


def _awaited(error: UnexpectedToken) -> set[str]:
    return {str(name) for name in error.accepts or error.expected}


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _listed(names: set[str]) -> str:
    words = sorted({_word(name) for name in names})
    if not words or len(words) > _LISTED:
        return "another token"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _word(name: str) -> str:
    if name in _WORDS:
        return _WORDS[name]
    pattern = _parser().get_terminal(name).pattern
    return repr(pattern.value) if isinstance(pattern, PatternStr) else name.lower()
