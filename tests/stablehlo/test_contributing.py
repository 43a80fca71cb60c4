"""The change that CONTRIBUTING.md shows in full is the code that there is."""

from __future__ import annotations

import re
from textwrap import dedent

from tests.project.paths import ROOT

SHOWN = re.compile(r"^   ```python\n(.*?)^   ```", re.MULTILINE | re.DOTALL)
FILES = ("topos/stablehlo/dialect/layout.py", "topos/runtimes/interpreter/kernels/layout.py")


def test_an_operation_is_shown_as_it_stands_in_its_two_files() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = [dedent(block) for block in SHOWN.findall(page)]
    sources = [(ROOT / file).read_text(encoding="utf-8") for file in FILES]
    assert len(shown) == len(sources)
    assert all(block in source for block, source in zip(shown, sources, strict=True))
    assert "    dialect.Reverse: _reverse,\n" in sources[1]
    assert (ROOT / "tests/gallery/reverse.mlir").exists()
