"""The command that prints the table of operations, and the page that has the table."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.project.paths import ROOT
from tests.stablehlo.gallery import GALLERY, operations
from topos import runtimes
from topos.errors import UnsupportedError
from topos.stablehlo.verifier import verified_names

GUIDE = ROOT / "docs" / "guides" / "stablehlo.md"
SPECIFICATION = importlib.util.spec_from_file_location("operations", ROOT / "tools/operations.py")
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
TOOL: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(TOOL)

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def facts() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(TOOL.FACTS.read_text(encoding="utf-8"))


def test_the_guide_has_the_table() -> None:
    assert TOOL.main(["--check", str(GUIDE)]) == 0


def test_a_page_with_another_table_is_told(tmp_path: Path, capsys: Captured) -> None:
    page = tmp_path / "page.md"
    page.write_text(GUIDE.read_text(encoding="utf-8").replace("`chlo.acos` |", "`chlo.cosa` |"))
    assert TOOL.main(["--check", str(page)]) == 1
    assert "page.md has another table" in capsys.readouterr().err
    assert TOOL.main(["--check", str(tmp_path / "none.md")]) == 2


def test_every_operation_has_a_row(capsys: Captured) -> None:
    assert TOOL.main([]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == sorted(verified_names())
    assert {row.count("|") for row in rows} == {5}


def test_an_operation_is_called_refused_where_no_module_runs_it(capsys: Captured) -> None:
    interpreter = runtimes.load("interpreter")
    running = set()
    for path in GALLERY:
        try:
            interpreter.compile(path.read_text())
        except UnsupportedError:
            continue
        running |= operations(path)
    TOOL.main([])
    rows = capsys.readouterr().out.splitlines()[2:]
    refused = {row.split("`")[1] for row in rows if "| refused |" in row}
    assert refused == verified_names() - running


@pytest.mark.parametrize(
    ("table", "name", "message"),
    [
        ("families", "layout", "needs an entry for the family layout"),
        ("operations", "stablehlo.collective_reduce", "needs the reason why .* is refused"),
    ],
)
def test_facts_that_are_missing_fail(facts: Any, table: str, name: str, message: str) -> None:
    del facts[table][name]
    with pytest.raises(LookupError, match=message):
        list(TOOL.rows(facts))


@pytest.mark.parametrize("table", ["families", "operations"])
def test_facts_of_nothing_fail(facts: Any, table: str) -> None:
    facts[table]["nothing"] = {"exact": "exact"}
    with pytest.raises(LookupError, match="has facts of nothing, which is not there"):
        list(TOOL.rows(facts))
