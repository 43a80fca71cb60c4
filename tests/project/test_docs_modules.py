"""The arguments of modules and optimizers stand in docs/ as they are in the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest

from tests.project.paths import ROOT, relative
from topos import init, model

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE, INDEX = ROOT / "docs/guides/training.md", ROOT / "docs/api/model.md"
PROTOCOLS = {"Module", "Optimizer"}
# What a module has, and what an optimizer has.
METHODS = ("visit", "start")


def built() -> dict[str, type]:
    """Returns every module and optimizer whose constructor a reader calls, by name."""
    found = {name: getattr(model, name) for name in model.__all__}
    return {
        name: item
        for name, item in found.items()
        if inspect.isclass(item)
        and name not in PROTOCOLS
        and not issubclass(item, Enum)
        and any(hasattr(item, method) for method in METHODS)
    }


BUILT = built()


def signature(name: str) -> str:
    """Returns the call of a constructor as a page has it, with the names of its defaults."""
    parts: list[str] = []
    for parameter in inspect.signature(BUILT[name]).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f"={spelled(parameter.default)}"
        parts.append(f"{star}{parameter.name}{default}")
    return f"{name}({', '.join(parts)})"


def spelled(default: object) -> str:
    """Returns a default as a reader writes it."""
    for name in ("zeros", "ones"):
        if default is getattr(init, name):
            return f"init.{name}"
    if isinstance(default, Enum):
        return str(default)
    return getattr(default, "__name__", repr(default))


def spans(page: Path) -> Iterator[str]:
    """Yields what stands between single backticks, on one line each."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    yield from re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("page", [GUIDE, INDEX], ids=relative)
def test_the_arguments_of_a_constructor_stand_on_the_page(page: Path, name: str) -> None:
    assert signature(name) in set(spans(page))


def calls(page: Path) -> Iterator[ast.Call]:
    """Yields the constructors that a page calls in a sentence or in the cell of a table."""
    signatures = {signature(name) for name in BUILT}
    for span in spans(page):
        if span in signatures or not span.startswith(tuple(f"{name}(" for name in BUILT)):
            continue
        for node in ast.walk(ast.parse(span)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in BUILT:
                yield node


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_constructor_takes_what_a_page_calls_it_with(page: Path) -> None:
    for call in calls(page):
        taken = inspect.signature(BUILT[ast.unparse(call.func)])
        given = [each for each in call.args if ast.unparse(each) != "..."]
        named = {str(keyword.arg): keyword.value for keyword in call.keywords}
        # Where a page leaves arguments out by three dots, the others have to fit all the same.
        bind = taken.bind if given == call.args else taken.bind_partial
        bind(*given, **named)


def test_pages_call_constructors_in_their_tables() -> None:
    called = {ast.unparse(call.func) for page in PAGES for call in calls(page)}
    assert {"Linear", "Embedding", "LayerNorm", "MultiHeadAttention", "AdamW"} <= called
