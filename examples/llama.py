"""Trains a small Llama on a sonnet and decodes from it, or decodes from a checkpoint of a large one.

Every token is chosen twice: over the whole context, and over a cache of keys and values. Both
recordings share their parameters, and under Exact both have the same bits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import (
    Cache,
    Embedding,
    Linear,
    MultiHeadAttention,
    Network,
    Parameters,
    Plan,
    RmsNorm,
    Tape,
    Tensor,
    ToposError,
    Value,
    Visitor,
    cross_entropy,
    i64,
    init,
    label,
    parameters,
    silu,
)
from topos.neural.adam import AdamW
from topos.neural.checkpoint import load
from topos.neural.clipping import Clipped
from topos.neural.decay import matrices
from topos.neural.schedule import cosine, warm_up
from topos.neural.step import RecordedStep, record_step

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# As a command, this file finds the examples it shares code with by the line above.
from examples.everywhere import Forward, others, rows, trial  # noqa: E402

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Table
    from rich.text import Text
except ImportError:
    print("llama needs rich: pip install 'topos-compiler[examples]'", file=sys.stderr)
    raise SystemExit(2) from None

# Shakespeare, sonnet 18 (1609).
SONNET: Final = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.
"""
LETTERS: Final = sorted(set(SONNET))

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Configuration:
    """The sizes of a Llama (Touvron et al., 2023); a `tied` one has no output weights."""

    vocabulary: int
    features: int = 32
    layers: int = 2
    heads: int = 4
    groups: int = 2
    hidden: int = 64
    base: float = 10000.0
    epsilon: float = 1e-5
    tied: bool = False


class Block:
    """Grouped-query attention and a SwiGLU (Shazeer, 2020), each normalized first and added."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: init.Initializer) -> None:
        def dense(place: int, inputs: int, outputs: int) -> Linear:
            return Linear(tape, inputs, outputs, weights=weights.split(place), bias=None)

        self.attention_norm = RmsNorm(tape, sizes.features, epsilon=sizes.epsilon)
        self.attention = MultiHeadAttention(
            tape,
            sizes.features,
            sizes.heads,
            weights=weights.split(0),
            bias=None,
            groups=sizes.groups,
            causal=True,
            rotary=sizes.base,
        )
        self.feed_norm = RmsNorm(tape, sizes.features, epsilon=sizes.epsilon)
        self.gate = dense(1, sizes.features, sizes.hidden)
        self.up = dense(2, sizes.features, sizes.hidden)
        self.down = dense(3, sizes.hidden, sizes.features)

    def express(self, tape: Tape, hidden: Value) -> Value:
        """Records the block over all positions, `[batch, length, features]`."""
        attended = self.attention.express(tape, self.attention_norm.express(tape, hidden))
        return self._fed(tape, hidden + attended)

    def step(
        self, tape: Tape, hidden: Value, cache: Cache, position: Value
    ) -> tuple[Value, Cache]:
        """Records the block over new positions, from `position` on, and the cache after them."""
        normalized = self.attention_norm.express(tape, hidden)
        attended, grown = self.attention.step(tape, normalized, cache, position)
        return self._fed(tape, hidden + attended), grown

    def visit(self, visitor: Visitor) -> None:
        """Visits the parts under the names of the attributes."""
        for name, part in vars(self).items():
            visitor.child(name, part)

    def _fed(self, tape: Tape, hidden: Value) -> Value:
        normalized = self.feed_norm.express(tape, hidden)
        gate = silu(self.gate.express(tape, normalized))
        return hidden + self.down.express(tape, gate * self.up.express(tape, normalized))


class Llama:
    """Tokens `[batch, length]` to the logits of what follows each, `[..., vocabulary]`."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: init.Initializer) -> None:
        table = weights.split(sizes.layers)
        self.embedding = Embedding(tape, sizes.vocabulary, sizes.features, table=table)
        self.blocks = [Block(tape, sizes, weights.split(place)) for place in range(sizes.layers)]
        self.norm = RmsNorm(tape, sizes.features, epsilon=sizes.epsilon)
        self.output: Linear | None = None
        if not sizes.tied:
            drawn = weights.split(sizes.layers + 1)
            self.output = Linear(tape, sizes.features, sizes.vocabulary, weights=drawn, bias=None)

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records the logits over a whole context."""
        hidden = self.embedding.express(tape, tokens)
        for block in self.blocks:
            hidden = block.express(tape, hidden)
        return self._logits(tape, hidden)

    def step(
        self, tape: Tape, tokens: Value, caches: Sequence[Cache], position: Value
    ) -> tuple[Value, list[Cache]]:
        """Records the logits of new tokens, and the caches that hold them too."""
        hidden, grown = self.embedding.express(tape, tokens), []
        for block, cache in zip(self.blocks, caches, strict=True):
            hidden, after = block.step(tape, hidden, cache, position)
            grown.append(after)
        return self._logits(tape, hidden), grown

    def visit(self, visitor: Visitor) -> None:
        """Visits the embedding, the blocks, the last norm and the output weights."""
        visitor.child("embedding", self.embedding)
        visitor.children("blocks", self.blocks)
        visitor.child("norm", self.norm)
        if self.output is not None:
            visitor.child("output", self.output)

    def _logits(self, tape: Tape, hidden: Value) -> Value:
        hidden = self.norm.express(tape, hidden)
        if self.output is not None:
            return self.output.express(tape, hidden)
        return affine(hidden, tape.value(self.embedding.table).transpose())
