"""The page of the judge's three modules prints what it says, on the runtime as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.examples.shell_pages import run_page
from tests.project.paths import ROOT
from tests.runtimes.require import require


def test_the_page_of_three_modules_prints_what_it_says(tmp_path: Path) -> None:
    require("iree")
    examples = ROOT / "examples" / "judge"
    for module in examples.glob("*.mlir"):
        shutil.copy(module, tmp_path)
    run_page(examples / "README.md", tmp_path)
