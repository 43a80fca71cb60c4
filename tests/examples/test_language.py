"""A checkpoint's folder and prompts in, text out: the same on every engine, alone or in a batch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.examples.checkpoints import drawn, trained, written
from tests.examples.commands import run
from tests.examples.modules import example
from tests.runtimes.require import require
from topos.errors import ArgumentError, ExecutionError, FeedError

for package in ("rich", "safetensors", "tokenizers"):
    pytest.importorskip(package)

TEXT = "the cat sat on the mat. the rat sat on the cat. where is the hat? " * 3
GPT2 = {"model_type": "gpt2", "vocab_size": 300, "n_positions": 40, "n_embd": 16}
GPT2 |= {"n_layer": 1, "n_head": 2}
LLAMA = {
    "model_type": "llama",
    "vocab_size": 300,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "float32",
}
STATED: dict[str, dict[str, Any]] = {"gpt2": GPT2, "llama": LLAMA}
STRETCH = "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"
PROMPTS = ["the cat sat on the mat. the", "where", "a rat?"]

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp(name) for name in STATED}
    for name, folder in made.items():
        # Files of a bare GPT-2 leave the prefix out.
        weights = drawn(STATED[name], 3).items()
        bare = {entry.removeprefix("transformer."): own for entry, own in weights}
        written(folder, STATED[name], bare, files=1 + (name == "llama"))
        trained(folder, TEXT, 300)
    return made


def told(kind: str, folder: Path, *options: str) -> str:
    done = run(f"{kind}.py", folder, "--checkpoint", ".", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tokens(kind: str, folder: Path, prompts: list[str], **asked: Any) -> list[list[int | None]]:
    """Returns what follows each prompt."""
    language, family = example("language"), getattr(example(kind), kind.upper())
    words = example("pretrained").text(folder)
    own = language.Job(folder, asked.pop("tokens", 10), **asked)
    started = language.started(family, own, [words.encode(each) for each in prompts])
    steps = list(language.generated(started, own.tokens, own.sampler))
    return [list(row) for row in zip(*steps, strict=True)]


@pytest.mark.parametrize("kind", STATED)
def test_a_prompt_goes_on_alike_alone_and_in_a_batch(kind: str, folders: dict[str, Path]) -> None:
    sampler = example("sampling").Sampler(temperature=0.8, top_k=20, top_p=0.9, seed=5)
    for own in (example("sampling").Sampler(), sampler):
        batch = tokens(kind, folders[kind], PROMPTS, sampler=own)
        # The first row draws what a prompt alone draws; the likeliest tokens need no draw.
        alone = PROMPTS if own.temperature == 0 else PROMPTS[:1]
        for row, prompt in zip(batch, alone, strict=False):
            assert [row] == tokens(kind, folders[kind], [prompt], sampler=own)


@pytest.mark.parametrize(("kind", "engine"), [("llama", "xla"), ("llama", "iree")])
def test_every_engine_goes_on_with_the_same_text(
    kind: str, engine: str, folders: dict[str, Path]
) -> None:
    require(engine)
    options = ["--tokens", "8", *(word for each in PROMPTS for word in ("--prompt", each))]
    first, *texts, last = told(kind, folders[kind], *options, "--engine", engine).splitlines()
    assert "parameters of f32, loaded in" in first
    assert re.fullmatch(rf"{engine}: \d+ tokens of prompts in .*, .* tokens a second .*", last)
    told_in_order = [f"{place}: {prompt}" for place, prompt in enumerate(PROMPTS, 1)]
    assert all(map(str.startswith, texts, told_in_order))
    for other in ("tape", "plan"):
        found = told(kind, folders[kind], *options, "--engine", other)
        assert found.splitlines()[1:-1] == texts


def test_one_prompt_is_told_as_it_goes_on(folders: dict[str, Path]) -> None:
    _, text, last = told(
        "llama", folders["llama"], "--prompt", "the hat", "--tokens", "5"
    ).splitlines()
    batch = tokens("llama", folders["llama"], ["the hat"], tokens=5)
    words = example("pretrained").text(folders["llama"])
    assert text == words.decode([*words.encode("the hat"), *batch[0]])
    assert last.startswith("plan: ")


def test_what_is_drawn_depends_on_the_seed_alone(folders: dict[str, Path]) -> None:
    options = ("--tokens", "12", "--temperature", "1.5", "--top-k", "50", "--top-p", "0.95")
    first, again, other = (
        told("gpt2", folders["gpt2"], *options, "--seed", seed).splitlines()[1:-1]
        for seed in ("1", "1", "2")
    )
    assert first == again != other


def test_a_row_that_ends_is_told_no_further(folders: dict[str, Path], tmp_path: Path) -> None:
    rows = tokens("gpt2", folders["gpt2"], PROMPTS)
    ended = rows[0][3]
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).symlink_to(folders["gpt2"] / name)
    stated = json.dumps(GPT2 | {"eos_token_id": 0})
    (tmp_path / "config.json").write_text(stated, encoding="utf-8")
    defaults = json.dumps({"eos_token_id": [ended, 1]})
    (tmp_path / "generation_config.json").write_text(defaults, encoding="utf-8")
    place = rows[0].index(ended) + 1
    told = tokens("gpt2", tmp_path, PROMPTS)[0]
    assert told == rows[0][:place] + [None] * (len(told) - place)
    assert tokens("gpt2", tmp_path, PROMPTS[:1]) == [rows[0][:place]]


def test_top_k_and_top_p_keep_the_likeliest() -> None:
    sampler = example("sampling").Sampler
    logits = np.log(np.array([[0.1, 0.4, 0.3, 0.2]]))

    def seen(**asked: Any) -> set[int]:
        own = sampler(temperature=1.0, **asked)
        draws = own.generators(1)
        return {int(own.choose(logits, draws)[0]) for _ in range(200)}

    assert seen() == {0, 1, 2, 3}
    assert seen(top_k=2) == {1, 2}
    assert seen(top_p=0.65) == {1, 2}
    assert seen(top_p=0.75) == {1, 2, 3}
    assert seen(top_k=3, top_p=0.4) == {1}


def test_logits_that_are_none_are_refused_and_a_least_temperature_takes_the_likeliest() -> None:
    sampler = example("sampling").Sampler
    for asked in (sampler(), sampler(temperature=5e-324)):
        draws = asked.generators(1)
        assert asked.choose(np.array([[-np.inf, -1e300, 1e300]], np.float64), draws) == [2]
        for wrong in (np.nan, np.inf):
            with pytest.raises(ExecutionError, match=r"^the logits hold NaN or infinities"):
                asked.choose(np.array([[1.0, wrong]], np.float32), draws)


def test_tokens_layers_and_weights_that_a_model_cannot_have_are_refused(tmp_path: Path) -> None:
    def start(changed: dict[str, Any], tokens: list[int]) -> None:
        weights = drawn(GPT2, 3).items()
        written(tmp_path, GPT2 | changed, {name: own.astype(np.int8) for name, own in weights})
        example("language").started(
            example("gpt2").GPT2, example("language").Job(tmp_path, 4), [tokens]
        )

    with pytest.raises(FeedError, match="has a model of 300 tokens, and its tokenizer makes token"):
        start({}, [3, 300])
    with pytest.raises(FeedError, match=r"needs n_layer of 1 to 1000, got 1000000000$"):
        start({"n_layer": 10**9}, [3])
    with pytest.raises(FeedError, match=r"tokens\.table needs f32\[300, 16\], got i8\[300, 16\]"):
        start({}, [3])
    with pytest.raises(ArgumentError, match=r"^a prompt needs text of UTF-8, got '\\udcff'$"):
        example("pretrained").Text(None).encode("\udcff")


def refused(kind: str, folder: Path, *options: str) -> str:
    done = run(f"{kind}.py", folder, "--checkpoint", ".", "--tokens", "4", *options)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("gpt2", {"model_type": "opt"}, 'needs model_type of "gpt2", got "opt"'),
        ("gpt2", {"n_head": 3}, "needs n_head that divides n_embd, got 3 and 16"),
        ("gpt2", {"activation_function": "tanh"}, "needs activation_function of gelu_new, "),
        ("gpt2", {"scale_attn_weights": False}, "needs scale_attn_weights of true, got false"),
        ("gpt2", {"logit_scale": 2.0}, "states logit_scale of 2.0, which this model does not know"),
        ("gpt2", {"activation_function": {}}, "needs activation_function of gelu_new, "),
        ("gpt2", {"layer_norm_epsilon": 10**400}, "needs a positive, finite layer_norm_epsilon"),
        ("llama", {"hidden_act": "gelu"}, 'needs hidden_act of "silu", got "gelu"'),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "default or llama3, got"),
        ("llama", {"rope_scaling": 3}, "needs an object of rope_scaling, got 3"),
        (
            "llama",
            {"rope_scaling": {"rope_type": "llama3", **dict.fromkeys(STRETCH, 1.0)}},
            "needs positive numbers in rope_scaling, the low factor below the high one, got",
        ),
        ("llama", {"layer_types": "full_attention"}, "needs a list of layer_types, got 'full"),
        ("llama", {"layer_types": [[]]}, "needs layer_types of full_attention, got []"),
        ("llama", {"layer_types": ["linear_attention"]}, "layer_types of full_attention, got 'lin"),
        ("llama", {"model_type": "mistral", "sliding_window": 4}, "the model has 4 positions"),
        ("llama", {"num_key_value_heads": 3}, "num_key_value_heads that divides num_attention"),
        ("llama", {"intermediate_size": 25}, "needs f32[16, 25], got f32[16, 24]"),
        ("llama", {"num_hidden_layers": 2}, "missing blocks.1.attention_norm.scale"),
    ],
)
def test_what_a_model_would_compute_differently_is_refused(
    kind: str, changed: dict[str, Any], message: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    for path in folders[kind].iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "config.json").unlink()
    text = json.dumps(STATED[kind] | changed)
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert message in refused(kind, tmp_path)


def test_a_folder_that_lacks_something_is_told_of(folders: dict[str, Path], tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    assert "and there is no file tokenizer.json" in refused("gpt2", own)
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (own / name).write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    assert "is a Git LFS pointer and not the file" in refused("gpt2", own)
    (own / "tokenizer.json").write_bytes((folders["gpt2"] / "tokenizer.json").read_bytes())
    (own / "config.json").write_text(json.dumps(GPT2), encoding="utf-8")
    assert "Git LFS pointer" in refused("gpt2", own)
    (own / "config.json").write_text("[" * 100_000, encoding="utf-8")
    assert "config.json is no JSON: maximum recursion" in refused("gpt2", own)
    long = refused("gpt2", folders["gpt2"], "--prompt", "?" * 50)
    assert "the model has 40 positions, and 50 tokens of prompt with 4 after them need 54" in long
    assert "a prompt needs one token or more" in refused("gpt2", folders["gpt2"], "--prompt", "")
    assert "top-p needs to be above 0" in refused("gpt2", folders["gpt2"], "--top-p", "0")
    folder = run("gpt2.py", tmp_path, "--checkpoint", "absent")
    assert "and there is no folder absent" in folder.stderr
    file = run("gpt2.py", own, "--checkpoint", "config.json")
    assert "and there is no folder config.json" in file.stderr
