"""Writes the logits of Hugging Face's own models, which the tests hold the examples to.

It needs torch and transformers, which no extra installs. A fixture has a configuration, the tokens
of prompts and the logits after them in f32 and bf16; weights are drawn again from its seed.

    python tools/language_fixtures.py --out tests/examples/fixtures
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.examples.checkpoints import drawn

SEED, TOKENS, PROMPTS = 7, 12, 2
GPT2: Final = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 32, "n_embd": 32}
LLAMA: Final = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}
STRETCH: Final = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
CASES: Final[dict[str, dict[str, Any]]] = {
    "gpt2": GPT2 | {"n_layer": 2, "n_head": 4},
    "llama": LLAMA | {"model_type": "llama", "rope_parameters": {"rope_theta": 1e4}},
    "llama3": LLAMA
    | {"model_type": "llama", "rope_parameters": STRETCH, "tie_word_embeddings": True}
    | {"attention_bias": True, "mlp_bias": True, "head_dim": 16},
    "mistral": LLAMA | {"model_type": "mistral", "sliding_window": None, "head_dim": 8},
    "qwen2": LLAMA | {"model_type": "qwen2", "use_sliding_window": False},
}
"""Configurations in Hugging Face's words, one a family and one of what Llama 3 adds."""


def logits(stated: dict[str, Any], weights: dict[str, Any], tokens: Any, element: str) -> Any:
    """Returns the logits `[prompts, tokens, vocabulary]` of transformers, in f32."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    own = {name: value for name, value in stated.items() if name != "model_type"}
    config = AutoConfig.for_model(stated["model_type"], **own)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    held = {name: torch.from_numpy(weight.copy()) for name, weight in weights.items()}
    missing, unexpected = model.load_state_dict(held, strict=False)
    assert not unexpected, unexpected
    assert set(missing) <= {"lm_head.weight"}, missing
    model.tie_weights()
    model = model.to(getattr(torch, element)).eval()
    with torch.no_grad():
        return model(torch.from_numpy(tokens)).logits.float().numpy()


def main() -> int:
    """Writes one fixture a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("tests/examples/fixtures"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, stated in CASES.items():
        tokens = np.random.default_rng(SEED).integers(61, size=(PROMPTS, TOKENS))
        weights = drawn(stated, SEED)
        held: dict[str, Any] = {"config": stated, "seed": SEED, "tokens": tokens.tolist()}
        for element in ("float32", "bfloat16"):
            own = logits(stated, weights, tokens, element)[:, -1].astype(np.float64)
            held[element] = [[float(f"{each:.7g}") for each in row] for row in own]
        text = json.dumps(held, separators=(",", ":"))
        (out / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
        print(f"{name}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
