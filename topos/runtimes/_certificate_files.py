"""Certificates as files: the JSON that comes with topos, read and written."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.runtimes._certificate import Cell, Certificate, Fault, Key, Outcome
from topos.stablehlo.types import ELEMENTS

FOLDER: Final = "certificates"
REFUSED: Final = "refused: "
# What a file has in place of that: the number of the reason.
NUMBERED: Final = "refused by "
_CELL: Final = re.compile(
    r"(?P<outcome>[a-z]{4,})? ?(?P<units>inf|\d[\d.e+]*)? ?"
    r"(?:flushed (?P<flushed>in and out|in|out))?"
)

# By operation and form: what was found, in words, of which elements.
Told = dict[str, dict[str, dict[str, list[str]]]]


def told(certificate: Certificate) -> Told:
    """Returns, by operation and form, what was found of which elements, in words."""
    found: Any = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for key in ordered((*certificate.cells, *certificate.refusals)):
        operation, variant, element = key
        words = f"{REFUSED}{certificate.refusals[key]}" if key in certificate.refusals else ""
        if not words:
            cells = certificate.cells[key].items()
            words = "; ".join(f"{name}: {cell}" for name, cell in cells) or str(Outcome.BITS)
        found[operation][variant][words].append(element)
    return {
        operation: {variant: dict(groups) for variant, groups in forms.items()}
        for operation, forms in found.items()
    }


def ordered(keys: Iterable[Key]) -> list[Key]:
    """Returns keys by operation and form, and the elements in the order of the specification."""
    order = {element: place for place, element in enumerate(ELEMENTS)}
    return sorted(keys, key=lambda key: (key[0], key[1], order[key[2]]))


def text_of(certificate: Certificate) -> str:
    """Returns the certificate as the JSON of its file."""
    named = ("runtime", "numerics", "versions", "processor", "seed", "probes", "left_out")
    shown: dict[str, Any] = {name: getattr(certificate, name) for name in named}
    shown["faults"] = [each._asdict() for each in certificate.faults]
    reasons = sorted(set(certificate.refusals.values()))
    shown["refusals"] = reasons
    lines = [f'"{name}": {json.dumps(value)}' for name, value in shown.items()]
    numbers = {f"{REFUSED}{each}": f"{NUMBERED}{place}" for place, each in enumerate(reasons)}
    operations = []
    for operation, forms in told(certificate).items():
        groups = {
            variant: {numbers.get(words, words): " ".join(each) for words, each in found.items()}
            for variant, found in forms.items()
        }
        operations.append(f'"{operation}": {json.dumps(groups)}')
    lines.append('"operations": {\n' + ",\n".join(operations) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parsed(text: str) -> Certificate:
    """Returns the certificate that `text_of` wrote."""
    document = json.loads(text)
    cells: dict[Key, dict[str, Cell]] = {}
    refusals: dict[Key, str] = {}
    reasons = document.pop("refusals")
    for operation, forms in document.pop("operations").items():
        for variant, groups in forms.items():
            for words, elements in groups.items():
                for element in elements.split():
                    key = (operation, variant, element)
                    if words.startswith(NUMBERED):
                        refusals[key] = reasons[int(words.removeprefix(NUMBERED))]
                    else:
                        cells[key] = dict(_cells(words))
    faults = tuple([Fault(**each) for each in document.pop("faults")])
    return Certificate(cells=cells, refusals=refusals, faults=faults, **document)


def _cells(words: str) -> Iterator[tuple[str, Cell]]:
    if words == Outcome.BITS:
        return
    for part in words.split("; "):
        name, _, cell = part.partition(": ")
        yield name, parsed_cell(cell)


def parsed_cell(words: str) -> Cell:
    """Returns the cell that prints as `words`."""
    match = _CELL.fullmatch(words)
    if match is None:
        raise ArgumentError(f"no cell of a certificate prints as {words!r}")
    outcome = Outcome(match["outcome"] or Outcome.ROUNDED)
    return Cell(outcome, float(match["units"] or math.inf), match["flushed"] or "")


@cache
def certificates() -> Mapping[tuple[str, str], Certificate]:
    """Returns the certificates that come with topos, by runtime and numerics."""
    folder = files("topos.runtimes").joinpath(FOLDER)
    found = [
        parsed(each.read_text(encoding="utf-8"))
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
        if each.name.endswith(".json")
    ]
    return {(each.runtime, each.numerics): each for each in found}


def certificate(runtime: str, numerics: Numerics | str = Numerics.FAST) -> Certificate | None:
    """Returns the certificate of a runtime that comes with topos, or `None` where there is none.

    It holds for what it names: `Certificate.versions` of packages on `Certificate.processor`.
    """
    return certificates().get((runtime, Numerics.of(numerics).value))
