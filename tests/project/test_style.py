"""The rules of CONTRIBUTING.md that a machine can check and no linter does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.paths import OTHERS, ROOT, package_modules, python_files, relative

FILES = list(python_files("topos", *OTHERS))
TEXTS = [
    *FILES,
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "topos").rglob("*.lark")),
    *(ROOT / name for name in ("Makefile", "pyproject.toml", "mkdocs.yml", ".ci/run")),
]
VAGUE = re.compile(r"utils?|helpers?|common|misc|managers?|impl|tools?|stuff|base", re.IGNORECASE)
# Spelled in pieces, so that this file does not hold what it looks for.
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" * 3 + r"\b")))
MACHINE = re.compile(r"(?<![\w.])/(?:work|tmp|home|root|Users)" + r"/|\.\./" + r"shared\b")


def lines_matching(pattern: re.Pattern[str], path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{relative(path)}:{number}: {line.strip()}"
        for number, line in enumerate(lines, start=1)
        if pattern.search(line)
    ]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """What every file of Python says, by its path from the root."""
    return {relative(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def test_a_module_says_in_one_sentence_what_it_is(trees: dict[str, ast.Module]) -> None:
    silent, long = [], []
    for name, tree in trees.items():
        docstring = ast.get_docstring(tree) or ""
        first = " ".join(docstring.partition("\n\n")[0].split())
        silent += [] if first.endswith(".") else [name]
        long += [name] if re.search(r"[.!?] [A-Z]", first) else []
    assert silent == []
    assert long == [], "the first paragraph is one sentence"


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in package_modules() if VAGUE.fullmatch(name.rpartition(".")[2])] == []


def test_a_module_imports_by_absolute_names(trees: dict[str, ast.Module]) -> None:
    imports = [
        (name, node)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    ]
    assert len(imports) > len(FILES)
    stars = [(name, node.lineno) for name, node in imports if node.names[0].name == "*"]
    assert [(name, node.lineno) for name, node in imports if node.level] == []
    assert stars == []


def test_nothing_is_left_for_later() -> None:
    assert [line for path in TEXTS for line in lines_matching(UNFINISHED, path)] == []


def test_no_text_names_a_place_of_one_machine() -> None:
    assert [line for path in TEXTS for line in lines_matching(MACHINE, path)] == []


def test_every_file_keeps_its_size() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "sizes.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
