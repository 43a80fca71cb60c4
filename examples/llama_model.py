"""Llama and its kin as modules, and how the tensors of their checkpoints map onto them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from language_model import Block, Heads, Language, merged, split

from topos import (
    Embedding,
    Initializer,
    Linear,
    RmsNorm,
    Tape,
    Value,
    affine,
    concat,
    f32,
    f64,
    init,
    silu,
)

__all__ = ["Configuration", "Llama", "Stretch", "entry_of", "named"]

# The usual names of a checkpoint's entries, and ours; a layer's number stands between.
OUTER: Final = {
    "model.embed_tokens.weight": "embedding.table",
    "model.norm.weight": "norm.scale",
    "lm_head.weight": "output.weights",
}
INNER: Final = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "query",
    "self_attn.k_proj": "key",
    "self_attn.v_proj": "value",
    "self_attn.o_proj": "mixed",
    "post_attention_layernorm": "feed_norm",
    "mlp.gate_proj": "gate",
    "mlp.up_proj": "up",
    "mlp.down_proj": "down",
}
LAYER: Final = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")


class Stretch(NamedTuple):
    """How Llama 3 lowers the frequencies of long waves for contexts beyond those of training."""

    factor: float
    low: float
    high: float
    positions: int


@dataclass(frozen=True)
class Configuration:
    """The sizes of a Llama (Touvron et al., 2023); a `tied` one has no output weights.

    `depth` is that of a head, `biased` names the projections that have a bias.
    """

    vocabulary: int
    features: int = 32
    layers: int = 2
    heads: int = 4
    groups: int = 2
    depth: int = 8
    hidden: int = 64
    base: float = 10000.0
    epsilon: float = 1e-5
    positions: int | None = None
    stretch: Stretch | None = None
    biased: frozenset[str] = frozenset()
    tied: bool = False


class Turns(NamedTuple):
    """Cosines and sines of every position, `[batch, 1, length, depth / 2]`."""

    cosines: Value
    sines: Value


class LlamaBlock(Block):
    """Grouped-query attention and a SwiGLU (Shazeer, 2020), each normalized first and added."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
        def linear(name: str, place: int, inputs: int, outputs: int) -> Linear:
            bias = init.zeros if name in sizes.biased else None
            return Linear(tape, inputs, outputs, weights=weights.split(place), bias=bias)

        features, hidden = sizes.features, sizes.hidden
        queried, shared = sizes.heads * sizes.depth, sizes.groups * sizes.depth
        self.attention_norm = RmsNorm(tape, features, epsilon=sizes.epsilon)
        self.query = linear("query", 0, features, queried)
        self.key = linear("key", 1, features, shared)
        self.value = linear("value", 2, features, shared)
        self.mixed = linear("mixed", 3, queried, features)
        self.feed_norm = RmsNorm(tape, features, epsilon=sizes.epsilon)
        self.gate = linear("gate", 4, features, hidden)
        self.up = linear("up", 5, features, hidden)
        self.down = linear("down", 6, hidden, features)
        self._sizes = sizes

    def heads(self, tape: Tape, hidden: Value, turns: Any) -> Heads:
        """Records the queries and keys, turned by their positions, and the values."""
        normalized, sizes = self.attention_norm.express(tape, hidden), self._sizes
        queries = split(self.query.express(tape, normalized), sizes.heads)
        keys = split(self.key.express(tape, normalized), sizes.groups)
        values = split(self.value.express(tape, normalized), sizes.groups)
        return Heads(turned(queries, turns), turned(keys, turns), values)

    def after(self, tape: Tape, hidden: Value, attended: Value) -> Value:
        """Records the output of the attention added, and the gated layers."""
        hidden = hidden + self.mixed.express(tape, merged(attended))
        normalized = self.feed_norm.express(tape, hidden)
        gate = silu(self.gate.express(tape, normalized))
        return hidden + self.down.express(tape, gate * self.up.express(tape, normalized))


class Llama(Language):
    """The model: rotary positions, blocks, and weights of logits that may be the table's."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
        self.groups, self.depth, self._sizes = sizes.groups, sizes.depth, sizes
        table = weights.split(sizes.layers)
        self.embedding = Embedding(tape, sizes.vocabulary, sizes.features, table=table)
        self.blocks = [
            LlamaBlock(tape, sizes, weights.split(place)) for place in range(sizes.layers)
        ]
        self.norm = RmsNorm(tape, sizes.features, epsilon=sizes.epsilon)
        self.output: Linear | None = None
        if not sizes.tied:
            drawn = weights.split(sizes.layers + 1)
            self.output = Linear(tape, sizes.features, sizes.vocabulary, weights=drawn, bias=None)

    def embed(self, tape: Tape, tokens: Value, places: Value) -> tuple[Value, Turns]:
        """Records the rows of the table, and the turns of their positions."""
        hidden = self.embedding.express(tape, tokens)
        return hidden, turns_of(tape, places, self._sizes, hidden)

    def logits(self, tape: Tape, hidden: Value) -> Value:
        """Records the products of normalized rows with the output weights, or with the table."""
        hidden = self.norm.express(tape, hidden)
        if self.output is not None:
            return self.output.express(tape, hidden)
        return affine(hidden, tape.value(self.embedding.table).transpose())


def turns_of(tape: Tape, places: Value, sizes: Configuration, like: Value) -> Turns:
    """Records cosines and sines of positions `[batch, length]` in the element of `like`.

    Angles are f32, and f64 for f64: a narrow element does not hold those of a few hundred places.
    """
    wide = f64 if like.element is f64 else f32
    batch, length = places.shape
    half = sizes.depth // 2
    steps = tape.leaf(frequencies(sizes).astype(wide.dtype), element=wide)
    angles = places.convert(wide).broadcast_along((2,), (half,))
    angles = angles * steps.broadcast_along((0, 1), (batch, length))
    cosines, sines = (
        each.convert(like.element).reshape((batch, 1, length, half))
        for each in (angles.cos(), angles.sin())
    )
    return Turns(cosines, sines)


def turned(value: Value, turns: Turns) -> Value:
    """Returns heads turned by their positions (Su et al., 2021).

    Feature `i` of the first half pairs with feature `i` of the second.
    """
    batch, heads, length, depth = value.shape
    half = depth // 2
    cosines, sines = (
        each.reshape((batch, length, half)).broadcast_along((1,), (heads,)) for each in turns
    )
    first, second = value.narrow(-1, 0, half), value.narrow(-1, half, half)
    return concat([first * cosines - second * sines, second * cosines + first * sines], -1)


def frequencies(sizes: Configuration) -> np.ndarray[Any, Any]:
    """Returns the angle of one position for each pair of features, `[depth / 2]`, in f64.

    Those of Llama 3 keep short waves, divide long ones by the factor, and blend between.
    """
    own = sizes.base ** -(np.arange(0, sizes.depth, 2) / sizes.depth)
    if sizes.stretch is None:
        return own
    factor, low, high, positions = sizes.stretch
    turns = positions * own / (2.0 * math.pi)
    blend = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return blend * own + (1.0 - blend) * own / factor


def named(entry: str) -> str | None:
    """Returns our name of a checkpoint's entry; tables of angles are computed, and left out."""
    layer = LAYER.fullmatch(entry)
    if entry.endswith("rotary_emb.inv_freq"):
        return None
    if layer is None:
        return OUTER.get(entry, entry)
    module = INNER.get(layer[2], layer[2])
    if module.endswith("norm"):
        return f"blocks.{layer[1]}.{module}.scale"
    return f"blocks.{layer[1]}.{module}.{'weights' if layer[3] == 'weight' else 'bias'}"


def entry_of(name: str) -> str:
    """Returns the usual name of a checkpoint's entry for one of ours."""
    outer = {own: entry for entry, own in OUTER.items()}
    if name in outer:
        return outer[name]
    _, layer, module, part = name.split(".")
    entry = {own: entry for entry, own in INNER.items()}[module]
    return f"model.layers.{layer}.{entry}.{'bias' if part == 'bias' else 'weight'}"
