"""The public names: sorted, importable, documented, and explained in docs/."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

import topos
from tests.project.paths import ROOT
from topos import bundle, compiler, errors, model, runtimes, serving
from topos.payload.arithmetic import DERIVED, PRIMITIVES

SURFACES = [topos, model, compiler, errors, runtimes, bundle, serving]


def public(surface: ModuleType) -> dict[str, object]:
    return {name: getattr(surface, name) for name in surface.__all__}


def natural(name: str) -> tuple[bool, bool, str]:
    """Returns the order of isort and of ruff: constants, then classes, then functions."""
    return not name.isupper(), name.islower() or name[0].islower(), name


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
def test_the_names_of_a_surface_are_sorted_and_there(surface: ModuleType) -> None:
    assert list(surface.__all__) == sorted(surface.__all__, key=natural)
    assert len(public(surface)) == len(surface.__all__)


@pytest.mark.parametrize("surface", [topos, bundle, serving], ids=lambda each: each.__name__)
def test_a_surface_lists_what_it_loads_later_and_nothing_else(surface: ModuleType) -> None:
    assert dir(surface) == sorted(surface.__all__)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
def test_every_public_class_and_function_says_what_it_is(surface: ModuleType) -> None:
    silent = [
        name
        for name, item in public(surface).items()
        if (inspect.isclass(item) or inspect.isfunction(item)) and not item.__doc__
    ]
    assert silent == []


@pytest.mark.parametrize("surface", SURFACES[1:], ids=lambda surface: surface.__name__)
def test_the_index_of_a_surface_has_its_names_and_no_others(surface: ModuleType) -> None:
    page = ROOT / "docs" / "api" / f"{surface.__name__.rpartition('.')[2]}.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    assert [row.split("`")[1] for row in rows] == list(surface.__all__)


def test_the_terminology_explains_every_public_class() -> None:
    text = (ROOT / "docs" / "terminology.md").read_text(encoding="utf-8")
    terms = {line.split("**")[1] for line in text.splitlines() if line.startswith("- **")}
    classes = [name for name, item in public(topos).items() if inspect.isclass(item)]
    assert [name for name in classes if not described(name, terms)] == []


def test_the_terminology_is_alphabetical_and_one_line_a_term() -> None:
    text = (ROOT / "docs" / "terminology.md").read_text(encoding="utf-8")
    entries = [line for line in text.splitlines() if line]
    terms = [line.split("**")[1] for line in entries if line.startswith("- **")]
    assert terms == sorted(terms, key=str.lower)
    assert len(terms) == len(set(terms))


def described(name: str, terms: set[str]) -> bool:
    """Returns whether `name`, split into words, is a term: `BoundEntry` is `bound entry`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return words.strip() in {term.lower() for term in terms}


def test_the_principle_of_elements_lists_every_function() -> None:
    page = ROOT / "docs" / "principles" / "6-an-element-brings-its-arithmetic.md"
    rows = [line.split(" | ") for line in page.read_text(encoding="utf-8").splitlines()]
    # What an arithmetic has by default stands in a wider table of its own.
    pairs = [row for row in rows if row[0][:3] == "| `" and len(row) == 2]
    names = [(re.findall(r"`(\w+)`", own), told) for own, told in pairs]
    listed = {name: told for own, told in names for name in own if told[:2] == "`("}
    assert listed == {name: f"`{arguments}` |" for name, arguments in PRIMITIVES.items()}
    followed = [(own[0], told) for own, told in names if told[:2] != "`("]
    assert {name: tuple(re.findall(r"`(\w+)`", told)) for name, told in followed} == DERIVED
