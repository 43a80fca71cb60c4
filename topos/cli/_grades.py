"""Grades on standard output, as the commands of the judge print them."""

from __future__ import annotations

from collections.abc import Iterator

from topos.cli._shared import table
from topos.judge import Grade


def tell(found: Grade) -> None:
    """Prints a grade: what failed, and a table of verdicts."""
    print(f"{found.runtime}: {found.outcome} (seed {found.seed}, {found.samples} samples)")
    for inputs, reason in found.failures.items():
        print(f"failed for {inputs} inputs: {reason}")
    if found.results:
        print(table(_rows(found), right=frozenset({3, 4})))


def _rows(found: Grade) -> Iterator[tuple[str, ...]]:
    """Yields the headings, then a row for each verdict of each result."""
    yield ("inputs", "result", "type", "elements", "ill", "verdict", "the worst element")
    before = ""
    for result in found.results:
        inputs = result.inputs if result.inputs != before else ""
        name, type, before = result.name, str(result.type), result.inputs
        ill = str(result.ill_conditioned or "")
        for verdict, count in reversed(result.counts.items()):
            worst = result.worst_told() if name else ""
            yield (inputs, name, type, str(count), ill, str(verdict), worst)
            inputs = name = type = ill = ""
