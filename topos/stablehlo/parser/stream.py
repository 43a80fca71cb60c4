"""The stream of tokens on its way to the parser: how deep they nest, and which names they know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lark import Token

from topos.errors import UnsupportedError
from topos.stablehlo.parsed import TokenError, place_of

# What reads, runs and prints a tree calls itself up to three times a bracket, and Python allows a
# thousand calls in one another.
DEEPEST: Final = 256

_OPENING: Final = frozenset(
    {"BLOB_OPENING", "DIALECT", "LBRACE", "LESSTHAN", "LPAR", "LSQB", "_TUPLE"}
)
_CLOSING: Final = frozenset({"MORETHAN", "RBRACE", "RPAR", "RSQB"})
_NAMES: Final = frozenset({"ALIAS", "TYPE_ALIAS"})
# No definition of an alias holds these.
_BESIDE: Final = frozenset({"BLOCK", "FUNCTION", "MODULE", "VALUE"})
_WATCHED: Final = _OPENING | _CLOSING | _NAMES | _BESIDE | {"LOC"}


class Watch:
    """Passes the tokens of any text on, for lark, and refuses what no part of a tree can be.

    Raises `UnsupportedError` where brackets nest more than `DEEPEST` deep, those of an alias
    counted wherever it is used, and `TokenError` where an alias is used before it is defined or
    defined twice. A location may use one that follows.
    """

    # Lark asks which terminals are to be matched everywhere.
    always_accept: tuple[str, ...] = ()

    def process(self, tokens: Iterator[Token]) -> Iterator[Token]:
        """Yields each of `tokens`."""
        seen = _Seen()
        for token in tokens:
            if seen.name is not None:
                seen.settle(token)
            if token.type in _WATCHED:
                seen.take(token)
            yield token
        if seen.name is not None:
            seen.settle(None)


class _Seen:
    """What one text has said so far."""

    def __init__(self) -> None:
        self._depth = 0
        # How deep what each alias stands for nests.
        self._depths: dict[str, int] = {}
        self._open = ""
        self._location: int | None = None
        # The alias that came last, as long as nothing has followed it.
        self.name: Token | None = None

    def settle(self, following: Token | None) -> None:
        """Takes the name for a definition where an equals sign follows it, and else for a use."""
        name, self.name = self.name, None
        assert name is not None
        if following is not None and following.type == "_EQUALS":
            self._define(name)
        else:
            self._use(name)

    def take(self, token: Token) -> None:
        if token.type in _NAMES:
            self.name = token
        elif token.type in _OPENING:
            self._depth += 1
            self._reach(token, 0)
        elif token.type in _CLOSING:
            self._close()
        elif token.type == "LOC" and self._location is None:
            self._location = self._depth
        elif token.type in _BESIDE:
            self._open = ""
            # The bracket of a module is free: printing adds it to a text that has none.
            self._depth -= token.type == "MODULE"

    def _close(self) -> None:
        self._depth -= 1
        if self._depth == self._location:
            self._location = None

    def _define(self, name: Token) -> None:
        if name.value in self._depths:
            raise TokenError(f"{name.value} is defined twice", name)
        self._open = name.value
        self._depths[name.value] = 0

    def _use(self, name: Token) -> None:
        known = name.value in self._depths and name.value != self._open
        if known:
            self._reach(name, self._depths[name.value])
        elif self._location is None:
            raise TokenError(f"{name.value} is used before it is defined", name)

    def _reach(self, token: Token, more: int) -> None:
        depth = self._depth + more
        if depth > DEEPEST:
            place = place_of(token)
            raise UnsupportedError(
                f"brackets nested this deep, more than {DEEPEST} in one another", *place
            )
        if self._open:
            self._depths[self._open] = max(self._depths[self._open], depth)
