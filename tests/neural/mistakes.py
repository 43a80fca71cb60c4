"""What bad input of modules is tried on, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.exact import exactly
from tests.project.bad_input import Bad, innermost_of_the_user
from topos import Tape, errors, i64

Mistake = tuple[type[errors.ToposError], str, Any]


class Twice:
    """A module with a mistake: two parameters under one name."""

    def __init__(self, tape: Tape) -> None:
        self.symbols = [tape.parameter(0.0).symbol for _ in range(2)]

    def express(self, tape: Tape, value: Any) -> Any:
        return value

    def visit(self, visitor: Any) -> None:
        for symbol in self.symbols:
            visitor.parameter("weights", symbol)


class Wrong(Twice):
    """A module with a mistake: what it shows is no module, or no symbol."""

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    def visit(self, visitor: Any) -> None:
        if isinstance(self.shown, str):
            visitor.children("blocks", [self.shown])
        visitor.parameter("weights", self.shown)


class Recording:
    """A tape with values of the shapes that layers take."""

    def __init__(self) -> None:
        self.tape = Tape()
        # Any, for most of what is tried here is what the types forbid.
        self.rows: Any = self.tape.input(shape=(4, 3))
        self.bias: Any = self.tape.input(shape=(5,))
        self.images: Any = self.tape.input(shape=(2, 3, 6, 6))
        self.heads: Any = self.tape.input(shape=(2, 4, 5, 6))
        self.labels: Any = self.tape.input(shape=(4,), element=i64)
        self.none: Any = self.tape.input(shape=())


def named(mistakes: list[Mistake]) -> list[Bad]:
    """Returns each mistake with its message for a name."""
    return [Bad(message, error, message, action) for error, message, action in mistakes]


def demand_told(bad: Bad, module: str) -> None:
    """Asserts the class and the whole message of a mistake, and the module of the user's line."""
    with pytest.raises(bad.error, match=exactly(bad.message)) as caught:
        bad.action(Recording())
    assert caught.type is bad.error
    # The two modules with mistakes of their own are the user's here as well.
    assert innermost_of_the_user(caught.value).f_globals["__name__"] in (module, __name__)
