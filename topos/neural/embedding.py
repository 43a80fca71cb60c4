"""Embedding: rows of a learned table, chosen by integers."""

from __future__ import annotations

from topos import Symbol, Tape, Value
from topos.neural import init
from topos.neural.formula import count
from topos.neural.init import Initializer
from topos.neural.module import Visitor

__all__ = ["Embedding"]


class Embedding:
    """A table `[entries, features]`; integers `[...]` choose rows, `[..., features]`.

    An integer outside is clamped to the nearest entry, as `gather` does. The transposed table is
    the weights of a tied output layer: `hidden @ tape.value(embedding.table).transpose()`.
    """

    __slots__ = ("table",)

    def __init__(self, tape: Tape, entries: int, features: int, *, table: Initializer) -> None:
        shape = count("Embedding", "entries", entries), count("Embedding", "features", features)
        self.table: Symbol = init.recorded(tape, "Embedding", table, shape)

    def express(self, tape: Tape, indices: Value) -> Value:
        """Records the rows that `indices` choose."""
        return tape.value(self.table).gather(indices, 0)

    def visit(self, visitor: Visitor) -> None:
        """Shows `table`."""
        visitor.parameter("table", self.table)
