"""The envelope table and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.samples import SAMPLES
from topos import Tape, runtimes
from topos.compiler import ELEMENTS
from topos.runtimes.grade import ROWS, Row, envelope, subject

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "runtimes.md"


def test_the_page_states_the_bounds_of_the_table() -> None:
    lines = PAGE.read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| operation | element |"))
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[start : lines.index("", start)]
    ]
    names, stated = table[0][2:], {}
    for operation, element, *cells in table[2:]:
        for name, cell in zip(names, cells, strict=True):
            match = re.fullmatch(r"\d+ of (\d+)", cell)
            bound = None if cell == "does not run" else int(match[1]) if match else 0
            stated[name, operation, element] = bound
    for (name, operation, element), bound in stated.items():
        assert envelope(name, operation, element).ulps == bound, (name, operation, element)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.runtime}-{row.operation}")
def test_every_row_names_a_runtime_and_an_operation(row: Row) -> None:
    operations = set()
    for sample in SAMPLES:
        tape = Tape(element=sample.elements[0])
        result, _ = sample.record(tape, sample.elements[0])
        operations.add(subject(tape.columns.forms[result.symbol.position].operation))
    assert row.runtime in runtimes.names()
    assert row.operation in operations


def test_interpreter_has_no_row() -> None:
    assert "interpreter" not in {row.runtime for row in ROWS}


def test_integers_and_unnamed_operations_must_have_the_oracle_bits() -> None:
    for element in ELEMENTS.values():
        assert envelope("xla", "add", element.name).ulps == 0
    assert envelope("xla", "exp", "i64").ulps == 0
    assert envelope("xla", "exp", "f32").ulps == 4
