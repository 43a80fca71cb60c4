"""The signal of a token that the grammar takes and the tree has no value for."""

from __future__ import annotations

from lark import Token

__all__ = ["MisreadError"]


class MisreadError(Exception):
    """A reason and the token it is about; `parse` turns it into a `ParseError` with the line."""

    def __init__(self, reason: str, token: Token) -> None:
        super().__init__(reason)
        self.reason, self.token = reason, token
