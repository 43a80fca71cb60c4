"""The signal of a part that the grammar takes and that has no meaning where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from topos.errors import ParseError, TextError, UnsupportedError
from topos.stablehlo.ir import Dense, Operation

if TYPE_CHECKING:
    from lark import Token

__all__ = ["TokenError", "line_of", "placed", "told_of"]


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
