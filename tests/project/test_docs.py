"""Every example in README.md and docs/ does what the page says it does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.examples.commands import ran
from tests.project.paths import ROOT, relative

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The pages that explain by code: one that lost its examples would otherwise pass unnoticed.
RUNNING = [
    "README.md",
    *(
        f"docs/guides/{name}.md"
        for name in (
            "start",
            "training",
            "checkpoints",
            "transformers",
            "coming_from",
            "stablehlo",
            "stablehlo_library",
            "runtimes",
            "export",
            "serving",
            "oracle",
            "plans",
            "acceleration",
        )
    ),
]
COMMAND = re.compile(r"\b(?:tools|examples)/[\w/]+\.py\b")
NAMED = sorted(
    {
        command
        for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
        for command in COMMAND.findall(page.read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_the_examples_of_a_page_run_as_printed(page: Path) -> None:
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS)
    assert outcome.failed == 0


@pytest.mark.parametrize("page", [*RUNNING, "docs/principles"])
def test_a_page_that_explains_by_code_has_code(page: str) -> None:
    path = ROOT / page
    pages = sorted(path.glob("[0-9]*.md")) if path.is_dir() else [path]
    assert pages
    for each in pages:
        assert doctest.DocTestParser().get_examples(each.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [part.split(")")[0].split("#")[0] for part in text.split("](")[1:]]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_commands_that_pages_name_are_there() -> None:
    assert [command for command in NAMED if not (ROOT / command).is_file()] == []


@pytest.mark.parametrize(
    "command", [name for name in NAMED if re.fullmatch(r"tools/\w+\.py", name)]
)
def test_a_tool_that_a_page_names_explains_itself(command: str, tmp_path: Path) -> None:
    done = ran(ROOT / command, tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    # More than the list of options that a parser prints by itself.
    usage, _, rest = done.stdout.partition("\n\n")
    assert usage.startswith("usage:")
    assert not rest.startswith("options:")
