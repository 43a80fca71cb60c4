"""The sentence encoder of 32 sentences: recorded, lowered, and run by XLA beside jax's own.

The rival is the same encoder written by hand in jax and jitted. Both run on one thread, in the
same turns, over the same weights, which are already where XLA wants them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

# What numpy's BLAS and XLA read when they are first imported.
SETTING: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
if any(os.environ.get(name) != value for name, value in SETTING.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **SETTING})

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import jax  # noqa: E402  # XLA must find the environment set.
import jax.numpy as jnp  # noqa: E402  # See above.
import numpy as np  # noqa: E402  # See above.
from minilm_model import Encoder, folder, loaded  # noqa: E402  # See above.
from safetensors.numpy import load_file  # noqa: E402  # See above.
from timing import interleaved, report  # noqa: E402  # See above.
from wordpiece import WordPiece  # noqa: E402  # See above.

from topos import Network, Tape, bool_, i64  # noqa: E402  # See above.

SENTENCES: Final = [
    f"{subject} {verb} {thing}{end}"
    for subject in ("The old harbour master", "Nobody in the laboratory", "My sister", "A program")
    for verb in ("remembers", "never reads")
    for thing in ("the weather report", "what was measured last week")
    for end in (".", ", whatever the others say about it.")
]
ROUNDS: Final = 7
HEADS: Final = 12
TABLES: Final = ("word", "position")

Weights = Mapping[str, Any]


def recorded(shape: tuple[int, int]) -> tuple[Network, Encoder]:
    """Records the encoder over tokens of a shape."""
    tape = Tape()
    encoder = Encoder(tape)
    tokens = tape.input(shape=shape, element=i64, name="tokens")
    mask = tape.input(shape=shape, element=bool_, name="mask")
    encoder.express(tape, tokens, mask).named("embeddings")
    return tape.into_network(), encoder


def by_hand(weights: Weights, tokens: Any, mask: Any) -> Any:
    """Returns the embeddings, as one writes the encoder in jax."""
    words, places = (weights[f"embeddings.{name}_embeddings.weight"] for name in TABLES)
    kinds = weights["embeddings.token_type_embeddings.weight"]
    hidden = words[tokens] + places[: tokens.shape[1]] + kinds[0]
    hidden = normalized(weights, "embeddings", hidden)
    for layer in range(6):
        root = f"encoder.layer.{layer}"
        hidden = hidden + attended(weights, f"{root}.attention", hidden, mask)
        hidden = normalized(weights, f"{root}.attention.output", hidden)
        inner = jax.nn.gelu(dense(weights, f"{root}.intermediate", hidden), approximate=False)
        hidden = hidden + dense(weights, f"{root}.output", inner)
        hidden = normalized(weights, f"{root}.output", hidden)
    total = jnp.einsum("bl,blf->bf", mask.astype(hidden.dtype), hidden)
    mean = total / mask.sum(1, keepdims=True)
    return mean / jnp.linalg.norm(mean, axis=1, keepdims=True)


def attended(weights: Weights, root: str, hidden: Any, mask: Any) -> Any:
    """Returns the attention of every token to those that the mask holds for."""
    queries, keys, values = (
        linear(weights, f"{root}.self.{part}", hidden).reshape(*hidden.shape[:2], HEADS, -1)
        for part in ("query", "key", "value")
    )
    scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / np.sqrt(queries.shape[-1])
    scores = jnp.where(mask[:, None, None, :], scores, -1e38)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), values)
    return dense(weights, f"{root}.output", mixed.reshape(hidden.shape))


def dense(weights: Weights, root: str, hidden: Any) -> Any:
    """Returns the layer that the file calls `dense` of a module."""
    return linear(weights, f"{root}.dense", hidden)


def linear(weights: Weights, root: str, hidden: Any) -> Any:
    """Returns a product with weights `[outputs, inputs]`, and a bias."""
    return hidden @ weights[f"{root}.weight"].T + weights[f"{root}.bias"]


def normalized(weights: Weights, root: str, hidden: Any) -> Any:
    """Returns the layer normalization of a module."""
    centred = hidden - hidden.mean(-1, keepdims=True)
    deviation = jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    scale, shift = (weights[f"{root}.LayerNorm.{part}"] for part in ("weight", "bias"))
    return centred / deviation * scale + shift


def main() -> int:
    """Prints both figures, and how far the two encoders are from one another."""
    place = folder()
    tokens, mask = WordPiece(place / "vocab.txt").batch(SENTENCES, 128)
    start = time.perf_counter()
    network, encoder = recorded(tokens.shape)
    entry = network.entry(["embeddings"])
    plan = entry.lower()
    # A plan schedules itself where that is first asked for: here, not in the first run.
    plan.schedule()
    seconds = time.perf_counter() - start
    parts = {"nodes": f"{len(plan.order)}", "recorded and lowered": f"{seconds:.2f} s"}
    report("32 sentences, recorded and lowered", parts, seconds / 3.0, "of 3 s, must be below 1")

    parameters = loaded(place / "model.safetensors", network.parameters(), encoder)
    feeds = {"tokens": tokens, "mask": mask}
    compiled = plan.compile("xla")
    # Arrays of XLA's own alignment: numpy's are copied before every call.
    *payloads, _, _ = plan.arguments(parameters, feeds)
    resident = [np.asarray(jax.device_put(payload)) for payload in payloads]
    jitted = partial(jax.jit(by_hand), jax.device_put(load_file(place / "model.safetensors")))
    rivals = {
        "topos": lambda: compiled.executable(*resident, tokens, mask)[0],
        "copied": lambda: compiled.forward(parameters, feeds).of("embeddings").numpy(),
        "jax": lambda: np.asarray(jitted(tokens, mask)),
    }
    ours, copied, theirs = (rival() for rival in rivals.values())
    assert ours.tobytes() == copied.tobytes()
    rates = {name: len(ours) / best for name, best in interleaved(rivals, ROUNDS).items()}
    figures = {
        "length": f"{tokens.shape[1]} tokens",
        "topos by XLA, embeddings a second": f"{rates['topos']:.1f}",
        "weights copied for every call": f"{rates['copied']:.1f}",
        "jax.jit, embeddings a second": f"{rates['jax']:.1f}",
        "largest 1 - cosine": f"{np.abs(1 - (ours * theirs).sum(1)).max():.0e}",
    }
    ratio = rates["topos"] / rates["jax"]
    report("32 sentences, embedded by XLA", figures, ratio, "must be at least 0.9")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
