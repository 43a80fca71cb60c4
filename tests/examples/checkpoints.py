"""Small checkpoints in Hugging Face's layout: weights drawn from a seed, and a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Stated = Mapping[str, Any]


def drawn(stated: Stated, seed: int) -> dict[str, Array]:
    """Returns the weights of a configuration by the names that transformers gives them.

    They are drawn in the order of `shapes`, those of norms around one.
    """
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in shapes(stated).items():
        own = random.standard_normal(shape)
        # Norms scale by about one.
        own = 0.2 * own + name.endswith("weight") if len(shape) == 1 else 0.3 * own
        weights[name] = own.astype(np.float32)
    return weights


def shapes(stated: Stated) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every weight of a configuration."""
    return _gpt2(stated) if stated["model_type"] == "gpt2" else _llama(stated)


def _gpt2(stated: Stated) -> dict[str, tuple[int, ...]]:
    width, words = stated["n_embd"], stated["vocab_size"]
    found: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (words, width)}
    found["transformer.wpe.weight"] = stated["n_positions"], width
    linear = {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width)}
    linear |= {"mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}
    for layer in range(stated["n_layer"]):
        for name, shape in linear.items():
            found[f"transformer.h.{layer}.{name}.weight"] = shape
            found[f"transformer.h.{layer}.{name}.bias"] = shape[1:]
        for name in ("ln_1", "ln_2"):
            found |= {f"transformer.h.{layer}.{name}.{part}": (width,) for part in PARTS}
    return found | {f"transformer.ln_f.{part}": (width,) for part in PARTS}


PARTS = ("weight", "bias")


def _llama(stated: Stated) -> dict[str, tuple[int, ...]]:
    width, words, inner = (
        stated[name] for name in ("hidden_size", "vocab_size", "intermediate_size")
    )
    heads, groups = stated["num_attention_heads"], stated["num_key_value_heads"]
    depth = stated.get("head_dim", width // heads)
    linear = {
        "self_attn.q_proj": (heads * depth, width),
        "self_attn.k_proj": (groups * depth, width),
    }
    linear |= {"self_attn.v_proj": (groups * depth, width)}
    linear |= {"self_attn.o_proj": (width, heads * depth)}
    linear |= {"mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width)}
    linear |= {"mlp.down_proj": (width, inner)}
    biased = [
        name for name in linear if name.startswith("self_attn") and stated.get("attention_bias")
    ]
    biased += [name for name in linear if name.startswith("mlp") and stated.get("mlp_bias")]
    if stated["model_type"] == "qwen2":
        biased = [f"self_attn.{each}_proj" for each in "qkv"]
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (words, width)}
    for layer in range(stated["num_hidden_layers"]):
        for name, shape in linear.items():
            found[f"model.layers.{layer}.{name}.weight"] = shape
            if name in biased:
                found[f"model.layers.{layer}.{name}.bias"] = shape[:1]
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"model.layers.{layer}.{name}.weight"] = (width,)
    found["model.norm.weight"] = (width,)
    if not stated.get("tie_word_embeddings"):
        found["lm_head.weight"] = (words, width)
    return found


def written(folder: Path, stated: Stated, weights: Mapping[str, Array], files: int = 1) -> None:
    """Writes settings and weights into a folder, with an index where there are several files."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(stated)), encoding="utf-8")
    if files == 1:
        save_file(dict(weights), folder / "model.safetensors")
        return
    names = [f"model-{part + 1:05}-of-{files:05}.safetensors" for part in range(files)]
    places = {entry: names[at % files] for at, entry in enumerate(weights)}
    for name in names:
        held = {entry: own for entry, own in weights.items() if places[entry] == name}
        save_file(held, folder / name)
    index = json.dumps({"metadata": {}, "weight_map": places})
    (folder / "model.safetensors.index.json").write_text(index, encoding="utf-8")


def trained(folder: Path, text: str, size: int) -> None:
    """Writes a tokenizer of bytes and their pairs, trained on a text, into a folder."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = sorted(set(pre_tokenizers.ByteLevel.alphabet()))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=letters,
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
