"""Three models of the letters of names: a table, a perceptron and a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Final

from topos import (
    Activation,
    Cache,
    Embedding,
    Initializer,
    LayerNorm,
    Linear,
    Mlp,
    MultiHeadAttention,
    Tape,
    Value,
    Visitor,
    concat,
    init,
)

__all__ = ["CAPACITY", "LETTERS", "Bigram", "Perceptron", "Transformer"]

# The sign before a name and after it, then the letters.
LETTERS: Final = f".{ascii_lowercase}"
# The longest name of the census has eleven letters.
CAPACITY: Final = 12
# How many letters the perceptron sees, and the widths of the models.
CONTEXT, EMBEDDED, HIDDEN = 3, 16, 64
FEATURES, HEADS, LAYERS = 32, 4, 2


class Bigram:
    """A table of logits: what follows a letter depends on that letter alone."""

    def __init__(self, tape: Tape, seed: int) -> None:
        self.table = Embedding(tape, len(LETTERS), len(LETTERS), table=init.normal(seed, 0.01))

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records tokens `[batch, length]` to the logits of what follows each."""
        return self.table.express(tape, tokens)

    def visit(self, visitor: Visitor) -> None:
        """Visits the table."""
        visitor.child("table", self.table)


class Perceptron:
    """A perceptron over the last three letters (Bengio et al., 2003)."""

    def __init__(self, tape: Tape, seed: int) -> None:
        draw = init.scaled(seed)
        self.letters = Embedding(tape, len(LETTERS), EMBEDDED, table=init.normal(seed, 0.3))
        self.layers = Mlp(tape, (CONTEXT * EMBEDDED, HIDDEN, len(LETTERS)), weights=draw)

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records tokens `[batch, length]` to the logits of what follows each."""
        letters = self.letters.express(tape, tokens)
        length = tokens.shape[1]
        # What stood before the first letter is zeros.
        earlier = [
            letters.pad((0, by, 0), (0, 0, 0)).narrow(1, 0, length) for by in range(1, CONTEXT)
        ]
        return self.layers.express(tape, concat([letters, *earlier], -1))

    def visit(self, visitor: Visitor) -> None:
        """Visits the letters and the layers."""
        visitor.child("letters", self.letters)
        visitor.child("layers", self.layers)


class Block:
    """Causal attention and a perceptron, each normalized first and added."""

    def __init__(self, tape: Tape, weights: Initializer) -> None:
        self.attention_norm = LayerNorm(tape, FEATURES)
        self.attention = MultiHeadAttention(
            tape, FEATURES, HEADS, weights=weights.split(0), bias=None, causal=True
        )
        self.feed_norm = LayerNorm(tape, FEATURES)
        widths = FEATURES, 4 * FEATURES, FEATURES
        self.feed = Mlp(tape, widths, weights=weights.split(1), activation=Activation.GELU)

    def express(self, tape: Tape, hidden: Value) -> Value:
        """Records the block over all positions, `[batch, length, features]`."""
        normalized = self.attention_norm.express(tape, hidden)
        return self._fed(tape, hidden + self.attention.express(tape, normalized))

    def step(self, tape: Tape, hidden: Value, cache: Cache, position: Value) -> tuple[Value, Cache]:
        """Records the block over new positions, from `position` on, and the cache after them."""
        normalized = self.attention_norm.express(tape, hidden)
        attended, grown = self.attention.step(tape, normalized, cache, position)
        return self._fed(tape, hidden + attended), grown

    def visit(self, visitor: Visitor) -> None:
        """Visits the parts under the names of the attributes."""
        for name, part in vars(self).items():
            visitor.child(name, part)

    def _fed(self, tape: Tape, hidden: Value) -> Value:
        return hidden + self.feed.express(tape, self.feed_norm.express(tape, hidden))


class Transformer:
    """A decoder over all letters so far (Radford et al., 2019), with learned positions."""

    def __init__(self, tape: Tape, seed: int) -> None:
        draw = init.scaled(seed)
        self.letters = Embedding(tape, len(LETTERS), FEATURES, table=init.normal(seed, 0.3))
        self.positions = Embedding(tape, CAPACITY, FEATURES, table=init.normal(seed + 1, 0.3))
        self.blocks = [Block(tape, draw.split(place)) for place in range(LAYERS)]
        self.norm = LayerNorm(tape, FEATURES)
        self.output = Linear(tape, FEATURES, len(LETTERS), weights=draw.split(LAYERS))

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records tokens `[batch, length]` to the logits of what follows each."""
        hidden = self._placed(tape, tokens, tokens.iota(tokens.shape[1:]))
        for block in self.blocks:
            hidden = block.express(tape, hidden)
        return self._logits(tape, hidden)

    def step(
        self, tape: Tape, tokens: Value, caches: Sequence[Cache], position: Value
    ) -> tuple[Value, list[Cache]]:
        """Records the logits of new tokens from `position` on, and the caches after them."""
        places = tokens.iota(tokens.shape[1:]) + position.broadcast(tokens.shape[1:])
        hidden, grown = self._placed(tape, tokens, places), []
        for block, cache in zip(self.blocks, caches, strict=True):
            hidden, after = block.step(tape, hidden, cache, position)
            grown.append(after)
        return self._logits(tape, hidden), grown

    def caches(self, tape: Tape, batch: int, capacity: int) -> list[Cache]:
        """Records the inputs of empty caches, one a block."""
        return [
            block.attention.cache(tape, batch, capacity, name=f"cache.{place}")
            for place, block in enumerate(self.blocks)
        ]

    def visit(self, visitor: Visitor) -> None:
        """Visits the tables, the blocks, the last norm and the output."""
        visitor.child("letters", self.letters)
        visitor.child("positions", self.positions)
        visitor.children("blocks", self.blocks)
        visitor.child("norm", self.norm)
        visitor.child("output", self.output)

    def _placed(self, tape: Tape, tokens: Value, places: Value) -> Value:
        letters = self.letters.express(tape, tokens)
        positions = self.positions.express(tape, places)
        return letters + positions.broadcast_along((0,), tokens.shape[:1])

    def _logits(self, tape: Tape, hidden: Value) -> Value:
        return self.output.express(tape, self.norm.express(tape, hidden))
