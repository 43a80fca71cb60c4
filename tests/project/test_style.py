"""The rules of CONTRIBUTING.md that a machine can check and no linter does."""

from __future__ import annotations

import re
from pathlib import Path

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
DOCSTRING = re.compile(r'(?:#[^\n]*\n|\n)*"""(.*?)"""', re.DOTALL)
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


def test_a_module_says_in_one_sentence_what_it_is() -> None:
    silent, long = [], []
    for path in FILES:
        found = DOCSTRING.match(path.read_text(encoding="utf-8"))
        first = " ".join(found[1].partition("\n\n")[0].split()) if found else ""
        silent += [] if first.endswith(".") else [relative(path)]
        long += [relative(path)] if re.search(r"[.!?] [A-Z]", first) else []
    assert silent == []
    assert long == [], "the first paragraph is one sentence"


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in package_modules() if VAGUE.fullmatch(name.rpartition(".")[2])] == []


def test_nothing_is_left_for_later() -> None:
    assert [line for path in TEXTS for line in lines_matching(UNFINISHED, path)] == []


def test_no_text_names_a_place_of_one_machine() -> None:
    assert [line for path in TEXTS for line in lines_matching(MACHINE, path)] == []
