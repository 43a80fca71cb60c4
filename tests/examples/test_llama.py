"""The small Llama trains and decodes both ways alike; a checkpoint of the usual names is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.examples.commands import FOREIGN, run
from topos import bf16

pytest.importorskip("rich")
safetensors = pytest.importorskip("safetensors.numpy")
STATED = {
    "vocab_size": 11,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 12,
    "rope_theta": 500.0,
    "rms_norm_eps": 1e-5,
}

NORMS = ("input", "post_attention")

Array = npt.NDArray[Any]


def written(folder: Path, **changed: object) -> dict[str, Array]:
    """Returns the weights of a checkpoint written into a folder, named as they usually are."""
    (folder / "config.json").write_text(json.dumps({**STATED, **changed}), encoding="utf-8")
    random = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (11, 16), "model.norm": (16,)}
    if not changed.get("tie_word_embeddings"):
        shapes["lm_head"] = (11, 16)
    for layer in range(2):
        parts = {"self_attn.q_proj": (16, 16), "self_attn.o_proj": (16, 16)}
        parts |= {"self_attn.k_proj": (8, 16), "self_attn.v_proj": (8, 16)}
        parts |= {"mlp.gate_proj": (12, 16), "mlp.up_proj": (12, 16), "mlp.down_proj": (16, 12)}
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in parts.items()}
        shapes |= {f"model.layers.{layer}.{name}_layernorm": (16,) for name in NORMS}
    weights = {
        f"{name}.weight": random.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    safetensors.save_file(weights, folder / "model.safetensors")
    return weights


def chosen(weights: dict[str, Array], tokens: list[int], capacity: int) -> list[int]:
    """Returns greedily chosen tokens, by Llama's formulas in f64 and without a cache."""
    while len(tokens) < capacity:
        hidden = weights["model.embed_tokens.weight"].astype(np.float64)[tokens]
        for layer in range(2):
            own = {
                name.removeprefix(f"model.layers.{layer}.").removesuffix(".weight"): weight
                for name, weight in weights.items()
            }
            hidden = hidden + attended(own, scaled(hidden, own["input_layernorm"]))
            normalized = scaled(hidden, own["post_attention_layernorm"])
            gate = normalized @ own["mlp.gate_proj"].T
            up = normalized @ own["mlp.up_proj"].T
            hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ own["mlp.down_proj"].T
        last = scaled(hidden, weights["model.norm.weight"])[-1]
        head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
        tokens = [*tokens, int((head @ last).argmax())]
    return tokens


def scaled(hidden: Array, scale: Array) -> Array:
    """Returns the root-mean-square normalization of every row."""
    result: Array = hidden / np.sqrt((hidden**2).mean(-1, keepdims=True) + 1e-5) * scale
    return result


def attended(own: dict[str, Array], hidden: Array) -> Array:
    """Returns causal attention of four heads to two groups of keys and values, depth four."""
    length = len(hidden)
    queries, keys, values = (
        (hidden @ own[f"self_attn.{part}_proj"].T).reshape(length, -1, 4) for part in "qkv"
    )
    heads = []
    for head in range(4):
        query, key = turned(queries[:, head]), turned(keys[:, head // 2])
        scores = query @ key.T / 2
        scores[np.triu_indices(length, 1)] = -np.inf
        shares = np.exp(scores - scores.max(1, keepdims=True))
        heads.append(shares / shares.sum(1, keepdims=True) @ values[:, head // 2])
    result: Array = np.concatenate(heads, 1) @ own["self_attn.o_proj"].T
    return result


def turned(rows: Array) -> Array:
    """Returns the pairs of features two apart, turned by their position and their frequency."""
    angles = np.arange(len(rows))[:, None] * 500.0 ** -np.array([0.0, 0.5])
    turns = np.exp(1j * angles) * (rows[:, :2] + 1j * rows[:, 2:])
    return np.concatenate([turns.real, turns.imag], 1)


def test_the_small_model_learns_and_decodes_both_ways_alike(tmp_path: Path) -> None:
    done = run("llama.py", tmp_path, "--steps", "30", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    loss = re.search(r"30/30 steps, loss (\d\.\d+)", done.stdout)
    assert loss
    # 42 letters drawn alike would cost 3.7.
    assert float(loss[1]) < 2.8
    assert "over the whole context the same tokens, logits of equal bits" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("│ interp")]
    assert row.count("bits") == 2
    assert "24 of 24" in row


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_checkpoint_decodes_as_its_formulas_say(
    tmp_path: Path, tied: bool, numerics: str
) -> None:
    weights = written(tmp_path, tie_word_embeddings=tied)
    done = run(
        *("llama.py", tmp_path, "--checkpoint", ".", "--prompt", "3", "1", "--capacity", "9"),
        *("--numerics", numerics),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert " ".join(map(str, chosen(weights, [3, 1], 9))) in lines
    assert any(line.startswith("over the whole context the same tokens") for line in lines)


def test_a_checkpoint_may_be_narrow_and_in_several_files(tmp_path: Path) -> None:
    weights = written(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    narrow = {name: weight.astype(bf16.dtype) for name, weight in weights.items()}
    names = sorted(narrow)
    for part, own in enumerate((names[::2], names[1::2])):
        file = tmp_path / f"model-{part}.safetensors"
        safetensors.save_file({name: narrow[name] for name in own}, file)
    done = run("llama.py", tmp_path, "--checkpoint", ".", "--capacity", "9", "--numerics", "exact")
    assert done.returncode == 0, done.stderr
    rounded = {name: weight.astype(np.float32) for name, weight in narrow.items()}
    assert " ".join(map(str, chosen(rounded, [1], 9))) in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rope_scaling": {"factor": 8.0}}, "config.json needs rope_scaling of None, got"),
        ({"head_dim": 8}, "config.json needs head_dim of 4, got 8"),
        ({"intermediate_size": 13}, "needs f32[16, 13], got f32[16, 12]"),
        ({"num_hidden_layers": 3}, "the checkpoint needs blocks.2.attention.key.weights, "),
        ({"num_hidden_layers": 1}, "has unexpected model.layers.1.input_layernorm.weight, "),
    ],
)
def test_a_checkpoint_of_another_model_is_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    written(tmp_path, **changed)
    done = run("llama.py", tmp_path, "--checkpoint", "model.safetensors")
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_a_prompt_has_to_leave_room(tmp_path: Path) -> None:
    done = run("llama.py", tmp_path, "--capacity", "2", "--prompt", "1", "2")
    assert done.returncode == 2
    assert "--prompt needs fewer tokens than 2, the capacity" in done.stderr
