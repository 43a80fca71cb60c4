"""Locations: each node keeps the line and column of the user's expression that recorded it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exact import exactly
from topos import Network, Tape, Value, gelu, variance
from topos.errors import ShapeError
from topos.graph.symbol import Location, new_origin


def place(network: Network, position: int) -> Location:
    location = list(network.nodes())[position].location
    assert location is not None
    return location


def spelled(location: Location) -> str:
    """Returns the source text from the location to the end of its line."""
    assert location.file == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[location.line - 1]
    return line[location.column - 1 :]


def test_an_operator_is_located_where_its_expression_begins() -> None:
    tape = Tape(locations=True)
    x = tape.input(shape=(2,))
    y = -x + x * 2.0
    last = (
        y
        - x.exp(
        ).tanh()
    )  # fmt: skip
    network = tape.into_network()
    texts = [spelled(place(network, position)) for position in range(network.length)]
    assert texts == [
        "tape.input(shape=(2,))",
        "-x + x * 2.0",
        "x * 2.0",
        "x * 2.0",
        "-x + x * 2.0",
        "x.exp(",
        "tanh()",
        "y",
    ]
    assert last.symbol.position == 7


def test_a_composite_is_located_at_its_call() -> None:
    tape = Tape(locations=True)
    x = tape.input(shape=(4,))
    gelu(x)
    middle = len(tape.columns.forms)
    variance(x)
    network = tape.into_network()
    texts = [spelled(place(network, position)) for position in range(1, network.length)]
    assert set(texts[: middle - 1]) == {"gelu(x)"}
    assert set(texts[middle - 1 :]) == {"variance(x)"}


def test_a_gradient_is_located_at_the_call_of_differentiate() -> None:
    tape = Tape(locations=True)
    x = tape.parameter(2.0)
    loss = x * x.exp()
    before = len(tape.columns.forms)
    tape.differentiate(loss, [x])
    network = tape.into_network()
    texts = {spelled(place(network, position)) for position in range(before, network.length)}
    assert texts == {"tape.differentiate(loss, [x])"}


def double(value: Value) -> Value:
    return value + value


def test_the_innermost_line_of_the_user_counts() -> None:
    def program(tape: Tape) -> Value:
        return double(tape.input(1.0))

    network, _ = Tape.record(program, locations=True)
    assert spelled(place(network, 0)) == "tape.input(1.0))"
    assert spelled(place(network, 1)) == "value + value"


def test_no_location_is_kept_unless_asked_for() -> None:
    tape = Tape()
    tape.input(1.0)
    network = tape.into_network()
    assert [node.location for node in network.nodes()] == [None]
    assert " at " not in network.describe()


def test_a_reopened_tape_goes_on_keeping_locations() -> None:
    tape = Tape(locations=True)
    tape.input(1.0, name="x")
    again = tape.into_network().into_tape()
    double(again.value("x"))
    assert spelled(place(again.into_network(), 1)) == "value + value"


def test_an_error_notes_where_its_operands_were_recorded() -> None:
    tape = Tape(locations=True)
    x = tape.input(shape=(2,), name="x")
    y = tape.input(shape=(3,))
    before = len(tape.columns.forms)
    with pytest.raises(ShapeError) as caught:
        x + y
    first = test_an_error_notes_where_its_operands_were_recorded.__code__.co_firstlineno
    assert str(caught.value) == "add needs equal shapes, got (2,) and (3,)"
    assert caught.value.__notes__ == [
        f"operand %0 'x' recorded at {__file__}:{first + 2}:9",
        f"operand %1 recorded at {__file__}:{first + 3}:9",
    ]
    assert len(tape.columns.forms) == before


def test_without_locations_an_error_has_no_notes() -> None:
    tape = Tape()
    x, y = tape.input(shape=(2,)), tape.input(shape=(3,))
    with pytest.raises(
        ShapeError, match=exactly("add needs equal shapes, got (2,) and (3,)")
    ) as it:
        x + y
    assert not hasattr(it.value, "__notes__")


def test_a_location_is_written_as_compilers_do() -> None:
    assert str(Location("model.py", 3, 7)) == "model.py:3:7"


def test_origins_are_all_different() -> None:
    assert len({new_origin() for _ in range(1000)}) == 1000
