"""Three models of the letters of names: a table, a perceptron and a transformer."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Final

from language_model import Block, Heads, Language, merged, split

from topos import (
    Activation,
    Embedding,
    Initializer,
    LayerNorm,
    Linear,
    Mlp,
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


class LetterBlock(Block):
    """Causal attention and a perceptron, each normalized first and added."""

    def __init__(self, tape: Tape, weights: Initializer) -> None:
        self.attention_norm = LayerNorm(tape, FEATURES)
        self.query, self.key, self.value, self.output = (
            Linear(tape, FEATURES, FEATURES, weights=weights.split(place), bias=None)
            for place in range(4)
        )
        self.feed_norm = LayerNorm(tape, FEATURES)
        widths = FEATURES, 4 * FEATURES, FEATURES
        self.feed = Mlp(tape, widths, weights=weights.split(4), activation=Activation.GELU)

    def heads(self, tape: Tape, hidden: Value, turns: None) -> Heads:
        """Records the queries, keys and values of the normalized `hidden`."""
        normalized = self.attention_norm.express(tape, hidden)
        layers = self.query, self.key, self.value
        return Heads(*(split(each.express(tape, normalized), HEADS) for each in layers))

    def after(self, tape: Tape, hidden: Value, attended: Value) -> Value:
        """Records the output of the attention added, and the perceptron."""
        hidden = hidden + self.output.express(tape, merged(attended))
        return hidden + self.feed.express(tape, self.feed_norm.express(tape, hidden))


class Transformer(Language):
    """A decoder over all letters so far (Radford et al., 2019), with learned positions."""

    def __init__(self, tape: Tape, seed: int) -> None:
        draw = init.scaled(seed)
        self.groups, self.depth = HEADS, FEATURES // HEADS
        self.letters = Embedding(tape, len(LETTERS), FEATURES, table=init.normal(seed, 0.3))
        self.positions = Embedding(tape, CAPACITY, FEATURES, table=init.normal(seed + 1, 0.3))
        self.blocks = [LetterBlock(tape, draw.split(place)) for place in range(LAYERS)]
        self.norm = LayerNorm(tape, FEATURES)
        self.output = Linear(tape, FEATURES, len(LETTERS), weights=draw.split(LAYERS))

    def embed(self, tape: Tape, tokens: Value, places: Value) -> tuple[Value, None]:
        """Records the sum of the rows of both tables."""
        return self.letters.express(tape, tokens) + self.positions.express(tape, places), None

    def logits(self, tape: Tape, hidden: Value) -> Value:
        """Records the logits of normalized rows."""
        return self.output.express(tape, self.norm.express(tape, hidden))
