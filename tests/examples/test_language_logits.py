"""The examples' language models have the logits of Hugging Face's own, by fixtures of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.examples.checkpoints import drawn, written
from tests.examples.modules import example
from tests.runtimes.require import require
from topos import bf16

pytest.importorskip("rich")
pytest.importorskip("safetensors")

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))
# How far f32 may be, beside the largest logit.
NEAR = 1e-4
# How far bf16 may be from f32, beside the distance of transformers' own bf16 from its f32.
ENVELOPE = 2.0

Array = npt.NDArray[Any]


def logits(folder: Path, held: dict[str, Any], engine: str, weights: str, read: int) -> Array:
    """Returns the logits after the tokens of a fixture, the first `read` of them in one call."""
    language = example("language")
    kind = (
        example("gpt2").GPT2 if held["config"]["model_type"] == "gpt2" else example("llama").LLAMA
    )
    tokens = np.array(held["tokens"])
    job = language.Job(folder, tokens.shape[1] - read + 1, engine, weights=weights)
    own = language.started(kind, job, tokens[:, :read].tolist())
    # Weights and caches are of the element that was asked for; only logits are widened.
    assert {each.element.name for _, each in own.parameters.items()} == {weights}
    assert {each.element.name for each in own.recorded.empty().values()} == {weights}
    found = own.decoder.read(own.prompts, own.pads)
    for slot in range(read, tokens.shape[1]):
        found = own.decoder.step(tokens[:, slot], slot)
    return np.asarray(found)


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    held = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    written(tmp_path, held["config"], drawn(held["config"], held["seed"]), files=2)
    wanted = np.array(held["float32"])
    for read in (12, 7):
        found = logits(tmp_path, held, "plan", "f32", read)
        assert np.abs(found - wanted).max() <= NEAR * np.abs(wanted).max(), read


@pytest.mark.parametrize(
    ("name", "engine"), [("gpt2", "plan"), ("llama3", "plan"), ("gpt2", "xla")]
)
def test_bf16_is_as_near_as_that_of_transformers(name: str, engine: str, tmp_path: Path) -> None:
    if engine == "xla":
        require("xla")
    held = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    weights = drawn(held["config"], held["seed"])
    narrow = {entry: own.astype(bf16.dtype) for entry, own in weights.items()}
    written(tmp_path, held["config"], narrow)
    wanted, theirs = np.array(held["float32"]), np.array(held["bfloat16"])
    found = logits(tmp_path, held, engine, "bf16", 9)
    distance = np.abs(theirs - wanted).max()
    assert 0 < np.abs(found - wanted).max() <= ENVELOPE * distance
