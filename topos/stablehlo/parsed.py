"""A parsed operation on its way to its generic form, and the signal of a part without a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from topos.errors import ParseError, TextError, UnsupportedError
from topos.stablehlo.ir import Attributes, Dense, Operation, Region, Type

if TYPE_CHECKING:
    from lark import Token

# A name and how many results it stands for.
Group = tuple[str, int]


class TokenError(Exception):
    """A reason and the part that it is about, raised where the text is not at hand."""

    def __init__(self, reason: str, part: Token | Dense | Operation) -> None:
        super().__init__(reason)
        self.reason, self.part = reason, part


def placed(error: TokenError, text: str) -> ParseError:
    """Returns the error as one of `text`, with the line that it stands in."""
    line, column = error.part.line or 1, error.part.column or 1
    return ParseError(error.reason, line, column, line_of(text, line))


def place_of(token: Token) -> tuple[int, int]:
    """Returns the line and the column of a token, which each one that a lexer made has."""
    return token.line or 0, token.column or 0


def line_of(text: str, number: int) -> str:
    """Returns a line of `text`, counted from one; a line that is not there is empty."""
    lines = text.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else ""


@contextmanager
def told_of(text: str) -> Iterator[None]:
    """Gives a fault found inside the line of `text` that it stands in."""
    try:
        yield
    except TokenError as error:
        raise placed(error, text) from None
    except TextError as error:
        raise error.located(text) from None
    except RecursionError:
        reason = "regions, types or attributes nested this deep"
        raise UnsupportedError(reason, 1).located(text) from None
    except MemoryError:
        reason = "constants larger than this machine's memory"
        raise UnsupportedError(reason, 1).located(text) from None


class Types(NamedTuple):
    """The types after an operation's colon; `operands` is `None` where there was no arrow."""

    operands: tuple[Type, ...] | None
    results: tuple[Type, ...]


class Said(NamedTuple):
    """What a form of Shardy says with a key as `key=value`, or by its place alone.

    `leads` tells whether it stands before the operands. `value` is a number, a word, an attribute
    in full, or the spelling of one in brackets.
    """

    key: str
    value: Any
    leads: bool = False

    @property
    def shown(self) -> str:
        """How a refusal calls it."""
        return f"{self.key}=..." if self.key else "axes or a sharding there"


class ParsedOperation(NamedTuple):
    """An operation as it was written, with its attributes called by their generic names.

    `words` are the bare words, ranges and constants among its operands that still have none.
    """

    name: Token
    operands: tuple[str, ...] = ()
    words: tuple[Any, ...] = ()
    attributes: Attributes = MappingProxyType({})
    regions: tuple[Region, ...] = ()
    types: Types = Types(None, ())
    successors: tuple[str, ...] = ()

    def spelled(self, attributes: Attributes) -> ParsedOperation:
        """Returns the operation with its words understood, as these `attributes`."""
        return self._replace(words=(), attributes={**self.attributes, **attributes})

    def misread(self, form: str) -> TokenError:
        """Returns the error of an operation that is not written with `form`."""
        return TokenError(f"{self.name.value} is written with {form}", self.name)
