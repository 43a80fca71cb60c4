"""GPT-2 as modules, and how its published configurations and tensors map onto them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from language_model import Block, Heads, Language, merged, split
from pretrained import MOST_LAYERS, Settings

from topos import (
    Activation,
    Embedding,
    Initializer,
    LayerNorm,
    Linear,
    Tape,
    Value,
    affine,
)

__all__ = ["Configuration", "Gpt2", "configuration", "named"]

ACTIVATIONS: Final = {
    "gelu_new": Activation.GELU_TANH,
    "gelu_pytorch_tanh": Activation.GELU_TANH,
    "gelu": Activation.GELU,
    "relu": Activation.RELU,
    "silu": Activation.SILU,
}
LAYER: Final = re.compile(r"h\.(\d+)\.(.+)\.(weight|bias)")
# The names of a layer's modules, and ours.
INNER: Final = {
    "ln_1": "attention_norm",
    "attn.c_attn": "mixed",
    "attn.c_proj": "output",
    "ln_2": "feed_norm",
    "mlp.c_fc": "up",
    "mlp.c_proj": "down",
}
OUTER: Final = {
    "wte.weight": "tokens.table",
    "wpe.weight": "places.table",
    "ln_f.weight": "norm.scale",
    "ln_f.bias": "norm.shift",
}
# Masks that older files carry beside the weights.
LEFT_OUT: Final = re.compile(r"h\.\d+\.attn\.(masked_)?bias")


@dataclass(frozen=True)
class Configuration:
    """The sizes of a GPT-2 (Radford et al., 2019)."""

    vocabulary: int
    positions: int
    features: int
    layers: int
    heads: int
    hidden: int
    epsilon: float = 1e-5
    activation: Activation = Activation.GELU_TANH


class Gpt2Block(Block):
    """Attention and a perceptron, each normalized first and added."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
        features, hidden = sizes.features, sizes.hidden
        self.attention_norm = LayerNorm(tape, features, epsilon=sizes.epsilon)
        # Queries, keys and values are one product, as in the published weights.
        self.mixed = Linear(tape, features, 3 * features, weights=weights.split(0))
        self.output = Linear(tape, features, features, weights=weights.split(1))
        self.feed_norm = LayerNorm(tape, features, epsilon=sizes.epsilon)
        self.up = Linear(tape, features, hidden, weights=weights.split(2))
        self.activation = sizes.activation
        self.down = Linear(tape, hidden, features, weights=weights.split(3))
        self._heads = sizes.heads

    def heads(self, tape: Tape, hidden: Value, turns: None) -> Heads:
        """Records the queries, keys and values of the normalized `hidden`."""
        mixed = self.mixed.express(tape, self.attention_norm.express(tape, hidden))
        width = mixed.shape[-1] // 3
        parts = (mixed.narrow(-1, place * width, width) for place in range(3))
        return Heads(*(split(part, self._heads) for part in parts))

    def after(self, tape: Tape, hidden: Value, attended: Value) -> Value:
        """Records the output of the attention added, and the perceptron."""
        hidden = hidden + self.output.express(tape, merged(attended))
        inner = self.activation(self.up.express(tape, self.feed_norm.express(tape, hidden)))
        return hidden + self.down.express(tape, inner)


class Gpt2(Language):
    """The model: learned positions, blocks, and the table of tokens as the weights of logits."""

    def __init__(self, tape: Tape, sizes: Configuration, weights: Initializer) -> None:
        self.groups, self.depth = sizes.heads, sizes.features // sizes.heads
        outer = [weights.split(sizes.layers + place) for place in range(2)]
        self.tokens = Embedding(tape, sizes.vocabulary, sizes.features, table=outer[0])
        self.places = Embedding(tape, sizes.positions, sizes.features, table=outer[1])
        self.blocks = [
            Gpt2Block(tape, sizes, weights.split(place)) for place in range(sizes.layers)
        ]
        self.norm = LayerNorm(tape, sizes.features, epsilon=sizes.epsilon)

    def embed(self, tape: Tape, tokens: Value, places: Value) -> tuple[Value, None]:
        """Records the sum of the rows of both tables."""
        return self.tokens.express(tape, tokens) + self.places.express(tape, places), None

    def logits(self, tape: Tape, hidden: Value) -> Value:
        """Records the products of normalized rows with the table of tokens."""
        table = tape.value(self.tokens.table).transpose()
        return affine(self.norm.express(tape, hidden), table)


def configuration(settings: Settings) -> Configuration:
    """Returns the sizes that a `config.json` states; raises `FeedError` at what we have not."""
    settings.demand("model_type", "gpt2")
    features = settings.count("n_embd", 768)
    heads = settings.count("n_head", 12)
    inner = settings.get("n_inner")
    settings.demand("scale_attn_weights", True, default=True)
    settings.demand("scale_attn_by_inverse_layer_idx", False, default=False)
    # It computes the same in f32, in another order.
    settings.demand("reorder_and_upcast_attn", False, default=False)
    settings.demand("add_cross_attention", False, default=False)
    settings.demand("tie_word_embeddings", True, default=True)
    settings.divides("n_head", heads, "n_embd", features)
    settings.skip("n_ctx", "embd_pdrop", "attn_pdrop", "resid_pdrop")
    return Configuration(
        vocabulary=settings.count("vocab_size", 50257),
        positions=settings.count("n_positions", 1024),
        features=features,
        layers=settings.count("n_layer", 12, MOST_LAYERS),
        heads=heads,
        hidden=4 * features if inner is None else settings.count("n_inner"),
        epsilon=settings.number("layer_norm_epsilon", 1e-5),
        activation=settings.choice("activation_function", ACTIVATIONS, "gelu_new"),
    )


def named(entry: str) -> str | None:
    """Returns our name of a checkpoint's entry, or None where it is none of the weights."""
    entry = entry.removeprefix("transformer.")
    if LEFT_OUT.fullmatch(entry) or entry == "lm_head.weight":
        return None
    layer = LAYER.fullmatch(entry)
    if layer is None:
        return OUTER.get(entry, entry)
    module = INNER.get(layer[2], layer[2])
    of_norm = {"weight": "scale", "bias": "shift"}
    parts = of_norm if module.endswith("norm") else {"weight": "weights", "bias": "bias"}
    return f"blocks.{layer[1]}.{module}.{parts[layer[3]]}"
