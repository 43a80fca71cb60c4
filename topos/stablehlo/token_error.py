"""The signal of a part that the grammar takes and that has no meaning where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.errors import ParseError
from topos.stablehlo.ir import Dense, Operation

if TYPE_CHECKING:
    from lark import Token

__all__ = ["TokenError", "line_of", "placed"]


class TokenError(Exception):
    """A reason and the part that it is about, raised where the text is not at hand."""

    def __init__(self, reason: str, part: Token | Dense | Operation) -> None:
        super().__init__(reason)
        self.reason, self.part = reason, part


def placed(error: TokenError, text: str) -> ParseError:
    """Returns the error as one of `text`, with the line that it stands in."""
    line, column = error.part.line or 1, error.part.column or 1
    return ParseError(error.reason, line, column, line_of(text, line))


def line_of(text: str, number: int) -> str:
    """Returns a line of `text`, counted from one; a line that is not there is empty."""
    lines = text.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else ""
