"""The command that prints the page on emission, and the page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.project.paths import ROOT
from topos.op import OPERATIONS

PAGE = ROOT / "docs" / "guides" / "emission.md"
PLACE = ROOT / "tools" / "emission_page.py"
SPECIFICATION = importlib.util.spec_from_file_location("emission_page", PLACE)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
TOOL: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(TOOL)


def test_the_page_is_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert TOOL.main(["--check", str(PAGE)]) == 0, "python tools/emission_page.py rewrites it"
    stale = tmp_path / "stale.md"
    stale.write_text(PAGE.read_text(encoding="utf-8").replace("`dot_general`", "`dot`"))
    assert TOOL.main(["--check", str(stale)]) == 1
    assert TOOL.main(["--check", str(tmp_path / "none.md")]) == 2
    assert "none.md" in capsys.readouterr().err


def test_every_operation_and_every_pattern_has_a_row() -> None:
    assert {sample.operation for sample in TOOL.SAMPLES} == set(OPERATIONS)
    rows = [row.split("`")[1] for row in (*TOOL.operations(), *TOOL.patterns()) if row[:3] == "| `"]
    assert rows == [
        *(sample.name for sample in TOOL.SAMPLES),
        *(kind.value for kind in TOOL.PatternKind),
    ]
