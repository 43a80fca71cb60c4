"""The page on language models prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.shell_pages import run_page
from tests.project.paths import ROOT
from tests.runtimes.require import require


def test_the_page_of_language_models_prints_what_it_says(tmp_path: Path) -> None:
    for package in ("rich", "safetensors", "tokenizers"):
        pytest.importorskip(package)
    require("xla")
    run_page(ROOT / "docs" / "guides" / "language_models.md", tmp_path)
