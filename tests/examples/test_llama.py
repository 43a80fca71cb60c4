"""The small Llama trains, is written in Hugging Face's layout, and goes on from a prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.examples.commands import FOREIGN, run

for package in ("rich", "safetensors", "tokenizers"):
    pytest.importorskip(package)


def test_the_small_model_learns_and_is_a_checkpoint_like_any(tmp_path: Path) -> None:
    done = run("llama.py", tmp_path, "--steps", "30", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    loss = re.search(r"30/30 steps, loss (\d\.\d+)", done.stdout)
    assert loss
    # 42 letters drawn alike would cost 3.7.
    assert float(loss[1]) < 2.8
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("│ interp")]
    assert row.count("bits") == 2
    assert "16 of 16" in row
    (text,) = [line for line in done.stdout.splitlines() if line.startswith("So long ")]
    folder = tmp_path / "demo" / "llama"
    again = run("llama.py", folder, "--checkpoint", ".", "--prompt", "So long ")
    assert again.returncode == 0, again.stderr
    assert text in again.stdout.splitlines()
    assert json.loads((folder / "config.json").read_text("utf-8"))["model_type"] == "llama"
