"""The Llama model as modules, and how the tensors of its published checkpoints map onto them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from topos import (
    Cache,
    Embedding,
    Initializer,
    Linear,
    MultiHeadAttention,
    Parameters,
    RmsNorm,
    Tape,
    Tensor,
    Value,
    Visitor,
    affine,
    checkpoint,
    f32,
    named_parameters,
    silu,
)
from topos.errors import FeedError

__all__ = ["Block", "Configuration", "Llama", "configuration", "loaded"]

# The usual names of a checkpoint's entries, and ours; a layer's number stands between.
OUTER: Final = {
    "model.embed_tokens.weight": "embedding.table",
    "model.norm.weight": "norm.scale",
    "lm_head.weight": "output.weights",
}
LAYER: Final = re.compile(r"model\.layers\.(\d+)\.(.+)")
INNER: Final = {
    "input_layernorm.weight": "attention_norm.scale",
    "self_attn.q_proj.weight": "attention.query.weights",
    "self_attn.k_proj.weight": "attention.key.weights",
    "self_attn.v_proj.weight": "attention.value.weights",
    "self_attn.o_proj.weight": "attention.output.weights",
    "post_attention_layernorm.weight": "feed_norm.scale",
    "mlp.gate_proj.weight": "gate.weights",
    "mlp.up_proj.weight": "up.weights",
    "mlp.down_proj.weight": "down.weights",
}


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

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
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
        normalized = self.feed_norm.express(tape, hidden)
        gate = silu(self.gate.express(tape, normalized))
        return hidden + self.down.express(tape, gate * self.up.express(tape, normalized))


class Llama:
    """Tokens `[batch, length]` to the logits of what follows each, `[..., vocabulary]`."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
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

    def caches(self, tape: Tape, batch: int, capacity: int) -> list[Cache]:
        """Records the inputs of empty caches, `cache.0.keys` and so on, one a block."""
        return [
            block.attention.cache(tape, batch, capacity, name=f"cache.{place}")
            for place, block in enumerate(self.blocks)
        ]

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


def configuration(path: Path) -> Configuration:
    """Returns the sizes that the `config.json` beside a checkpoint states.

    Raises `FeedError` where it asks for what this model has not.
    """
    try:
        stated: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        heads, features = stated["num_attention_heads"], stated["hidden_size"]
        own = Configuration(
            vocabulary=stated["vocab_size"],
            features=features,
            layers=stated["num_hidden_layers"],
            heads=heads,
            groups=stated.get("num_key_value_heads", heads),
            hidden=stated["intermediate_size"],
            base=stated.get("rope_theta", 10000.0),
            epsilon=stated["rms_norm_eps"],
            tied=stated.get("tie_word_embeddings", False),
        )
    except (KeyError, ValueError) as error:
        raise FeedError(f"{path} is no configuration of a Llama: {error}") from error
    others = {
        "rope_scaling": (None,),
        "attention_bias": (None, False),
        "mlp_bias": (None, False),
        "hidden_act": (None, "silu"),
        "head_dim": (None, features // heads),
    }
    for name, known in others.items():
        if stated.get(name) not in known:
            raise FeedError(f"{path} needs {name} of {known[-1]}, got {stated[name]}")
    return own


def loaded(files: Sequence[Path], parameters: Parameters, model: Llama) -> Parameters:
    """Returns `parameters` with the weights that safetensors files of the usual names hold.

    Raises `FeedError` where a weight is in none of the files, or an entry is nobody's.
    """
    missing = {str(path) for path, _ in named_parameters(model)}
    tied = model.output is None

    def rename(name: str) -> str | None:
        return _name(name, tied)

    for file in files:
        held = checkpoint.load(file, parameters, model, partial=True, rename=rename, adapt=_adapted)
        parameters = held.parameters
        missing -= set(held.report.loaded)
        if held.report.unexpected:
            raise FeedError(f"{file} has unexpected {', '.join(held.report.unexpected)}")
    if missing:
        raise FeedError(f"the checkpoint needs {', '.join(sorted(missing))}, got none")
    return parameters


def _name(entry: str, tied: bool) -> str | None:
    """Returns our name of an entry; tables of angles are computed, and left out."""
    layer = LAYER.fullmatch(entry)
    if entry.endswith("rotary_emb.inv_freq") or (tied and entry == "lm_head.weight"):
        return None
    if layer is None:
        return OUTER.get(entry, entry)
    return f"blocks.{layer[1]}.{INNER.get(layer[2], layer[2])}"


def _adapted(name: str, tensor: Tensor) -> Tensor:
    """Returns a tensor as we hold it: in f32, weights as `[inputs, outputs]`."""
    wide = tensor.convert(f32)
    return wide.transpose() if name.endswith(".weights") else wide
