"""GPT-2's size, 124M parameters, written in Hugging Face's layout: tokens a second.

The example's decoder on the plan beside numpy by hand, and on XLA beside jax.jit; every decoder has
a cache of its own and takes the same tokens in turn. The command fails where a logit differs, or
where a decoder makes fewer tokens than its share of its rival's.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

# One thread for every rival; read by numpy's BLAS when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import numpy as np
import numpy.typing as npt
from gpt2 import GPT2
from language import Job, Started, started
from language_rivals import in_jax, in_numpy
from safetensors.numpy import load_file, save_file
from timing import report

from topos import runtimes

LAYERS, HEADS, FEATURES, VOCABULARY, POSITIONS = 12, 12, 768, 50257, 1024
PROMPT, TOKENS, WARM = 64, 96, 4
SHARES: Final = {"plan": ("numpy", 0.9), "xla": ("jax", 0.95)}
NEAR: Final = 1e-4

Array = npt.NDArray[Any]


def write(folder: Path) -> None:
    """Writes random weights of GPT-2's shapes, and its settings."""
    random = np.random.default_rng(0)

    def drawn(*shape: int) -> Array:
        return random.standard_normal(shape, np.float32) * np.float32(0.02)

    weights = {"wte": drawn(VOCABULARY, FEATURES), "wpe": drawn(POSITIONS, FEATURES)}
    sizes = {"attn.c_attn": (1, 3), "attn.c_proj": (1, 1), "mlp.c_fc": (1, 4), "mlp.c_proj": (4, 1)}
    norms, biases = ["ln_f"], {}
    for layer in range(LAYERS):
        norms += [f"h.{layer}.ln_1", f"h.{layer}.ln_2"]
        for name, (inputs, outputs) in sizes.items():
            weights[f"h.{layer}.{name}"] = drawn(inputs * FEATURES, outputs * FEATURES)
            biases[f"h.{layer}.{name}"] = drawn(outputs * FEATURES)
    weights |= {name: 1 + drawn(FEATURES) for name in norms}
    biases |= {name: drawn(FEATURES) for name in norms}
    named = {f"{name}.weight": own for name, own in weights.items()}
    save_file(
        named | {f"{name}.bias": own for name, own in biases.items()},
        folder / "model.safetensors",
    )
    stated = {"model_type": "gpt2", "n_layer": LAYERS, "n_head": HEADS, "n_embd": FEATURES}
    stated |= {"vocab_size": VOCABULARY, "n_positions": POSITIONS}
    (folder / "config.json").write_text(json.dumps(stated), encoding="utf-8")


def read(folder: Path, engine: str, prompt: list[int]) -> Started:
    """Returns the example's decoder, which has read the prompt."""
    own = started(GPT2, Job(folder, TOKENS, engine=engine), [prompt])
    own.decoder.read(own.prompts, own.pads)
    return own


def filled(step: Any, prompt: list[int]) -> Any:
    """Returns a rival's step, which has read the prompt."""
    for slot, token in enumerate(prompt):
        step(token, slot)
    return step


def main() -> int:
    """Prints the rates and their ratios; returns 1 where one is below its share."""
    random = np.random.default_rng(1)
    prompt = random.integers(VOCABULARY, size=PROMPT).tolist()
    engines = ["plan", *(["xla"] if runtimes.load("xla").status().ready else [])]
    with tempfile.TemporaryDirectory() as place:
        write(Path(place))
        owns = {engine: read(Path(place), engine, prompt) for engine in engines}
        weights = load_file(Path(place) / "model.safetensors")
    shape = (HEADS, PROMPT + TOKENS - 1, FEATURES // HEADS)
    steps = {
        engine: lambda token, slot, own=own: own.decoder.step(np.array([token]), slot)[0]
        for engine, own in owns.items()
    }
    for engine in engines:
        make = {"plan": in_numpy, "xla": in_jax}[engine]
        caches = [(np.zeros(shape, np.float32), np.zeros(shape, np.float32)) for _ in range(LAYERS)]
        steps[SHARES[engine][0]] = filled(make(weights, HEADS, caches), prompt)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for slot, token in enumerate(random.integers(VOCABULARY, size=TOKENS - 1).tolist(), PROMPT):
        logits = {}
        for name, step in steps.items():
            start = time.perf_counter()
            logits[name] = step(token, slot)
            times[name].append(time.perf_counter() - start)
        least = logits["numpy"]
        for name, own in logits.items():
            assert np.abs(own - least).max() <= NEAR * np.abs(least).max(), name
    return judged({name: statistics.median(own[WARM:]) for name, own in times.items()})


def judged(seconds: dict[str, float]) -> int:
    """Prints a report for every engine; returns 1 where one is too slow."""
    faults = 0
    for engine, (rival, share) in SHARES.items():
        if engine in seconds:
            ratio = seconds[rival] / seconds[engine]
            faults += ratio < share
            figures = {name: f"{1 / seconds[name]:.1f} a second" for name in (engine, rival)}
            report(f"{engine}: tokens of 124M parameters", figures, ratio, f"at least {share}")
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
