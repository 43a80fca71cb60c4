"""The command that prints texts and reads them back: what it counts, and what it tells."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.project.paths import ROOT

SPECIFICATION = importlib.util.spec_from_file_location("roundtrip", ROOT / "tools/roundtrip.py")
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
TOOL: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(TOOL)

Captured = pytest.CaptureFixture[str]

GOOD = "func.func @main() {\n  return\n}\n"
PARTS = f"""// RUN: a comment alone is no text
// -----
{GOOD}
// ----- and the same again
{GOOD}  // with a comment
// -----
func.func @main() {{
  scf.if %c {{ }} return }}
// -----
func.func @main( {{ return }}
"""


def test_the_texts_of_the_tests_come_back_the_same(capsys: Captured) -> None:
    assert TOOL.main([str(ROOT / "tests/golden"), str(ROOT / "tests/gallery")]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    count = first.split()[0]
    assert second.split() == f"{count} parse, of which {count} come back the same".split()
    assert third.split()[0] == "0"


def test_parts_of_a_file_are_counted_by_what_becomes_of_them(
    tmp_path: Path, capsys: Captured
) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b/c.mlir", PARTS)
        archive.writestr("b/c.txt", "no text")
    assert TOOL.main([str(tmp_path / "a.zip"), "--list", "refused"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith(f"{tmp_path}/a.zip:b/c.mlir part 5: refused: expected ")
    assert lines[1:4] == [
        "3 different texts",
        "1 parse, of which 1 come back the same",
        "1 of another dialect",
    ]
    assert lines[4].startswith("1 refused: expected ")


@pytest.mark.parametrize(
    ("print_of", "told"),
    [
        (GOOD.replace("main", "other"), "another tree"),
        ("func.func", "LOST: ParseError"),
        (f"{GOOD}// changed", "another text"),
    ],
)
def test_a_text_that_does_not_come_back_is_told(
    print_of: str, told: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.mlir"
    file.write_text(GOOD)
    prints = iter([print_of, GOOD])
    monkeypatch.setattr(TOOL, "printed", lambda module: next(prints))
    assert TOOL.main([str(file)]) == 1
    out = capsys.readouterr().out
    assert f"{file}: LOST: " in out
    assert told in out


def test_a_folder_without_texts_is_told_by_the_status(tmp_path: Path) -> None:
    assert TOOL.main([str(tmp_path)]) == 2


def test_a_path_that_is_absent_is_told_in_a_line(tmp_path: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        TOOL.main([str(tmp_path / "absent.zip")])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"there is no file or folder {tmp_path}/absent.zip\n"
