"""The count of random single-point changes: what may change, and a change that lives."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.project.paths import ROOT

TOOL = ROOT / "tools" / "mutants.py"
SOURCE = '''\
from typing import TYPE_CHECKING

def half(x: int = 4, *, even: bool | None = None) -> int | None:
    """Returns 1 < 2."""
    if x < 0 or "é" in str(x):
        raise ValueError(f"{x} < {0}")
    note(min(x, 7), zip(x, x, strict=True))
    return x // 2 if not even else None
'''


def test_the_changes_of_a_source() -> None:
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(TOOL.parent)!r})
        from mutation_points import changed, changes
        source = {SOURCE!r}
        for change in changes(source):
            text = changed(source, change).splitlines()[change.line - 1].strip()
            compile(changed(source, change), "", "exec")
            print(text)
    """)
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "def half(x: int = 3, *, even: bool | None = None) -> int | None:",
        "if False:",
        'if x <= 0 or "é" in str(x):',
        'if x < 1 or "é" in str(x):',
        'if x < 0 and "é" in str(x):',
        'if x < 0 or "é" not in str(x):',
        "None",
        "note(max(x, 7), zip(x, x, strict=True))",
        "note(min(x, 6), zip(x, x, strict=True))",
        "return x * 2 if not even else None",
        "return x // 1 if not even else None",
        "return x // 2 if even else None",
    ]


def test_a_change_lives_or_is_killed_by_the_mirrored_tests(tmp_path: Path) -> None:
    for name, text in {
        "topos/room/sums.py": "def plus(x, y):\n    return x + y\n",
        "tests/room/test_sums.py": (
            "from topos.room.sums import plus\n\ndef test_plus():\n    assert plus(2, Y) == 2 + Y\n"
        ),
        "tools/mutants.py": TOOL.read_text(),
        "tools/mutation_points.py": (TOOL.parent / "mutation_points.py").read_text(),
        "tests/test_other.py": "def test_that_mirrors_nothing():\n    raise AssertionError\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("Y", "0" if "test" in name else "y"))
    mutants = [sys.executable, str(tmp_path / "tools" / "mutants.py")]
    alive = subprocess.run(mutants, capture_output=True, text=True, check=False)
    assert "alive" in alive.stdout
    assert "`+` -> `-`    return x + y" in alive.stdout
    test = tmp_path / "tests/room/test_sums.py"
    test.write_text(test.read_text().replace("0", "3"))
    killed = subprocess.run(mutants, capture_output=True, text=True, check=False)
    assert killed.returncode == 0, killed.stdout + killed.stderr
    assert "tests/room/test_sums.py::test_plus" in killed.stdout
    assert killed.stdout.splitlines()[-1].split() == ["all", "1", "0", "0", "0", "100%"]
    assert "x + y" in (tmp_path / "topos/room/sums.py").read_text()
