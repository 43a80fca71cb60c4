"""A cache that takes a row: recognized, run as one kernel, and written as one update."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.catalog.recordings import drawn
from topos import Element, Network, Numerics, Tape, Value, bf16, broadcast_to, f32, i64
from topos.compiler import PatternKind

SHAPE, AXIS = (3, 5, 4), 1


def updated(value: Value, row: Value, place: Value, axis: int = AXIS) -> Value:
    """Records `value` with the row at a place of an axis replaced."""
    shape = value.shape
    others = [each for each in range(len(shape)) if each != axis]
    mask = value.iota((shape[axis],)).equal(place.broadcast((shape[axis],)))
    spread = mask.broadcast_along(others, [shape[each] for each in others])
    return spread.select(broadcast_to(row, shape), value)


def cache(element: Element = f32) -> Network:
    """Returns a network of `first`, an input's update, and `second`, that of a computed value."""
    tape = Tape(element=element)
    value = tape.input(shape=SHAPE, element=element, name="value")
    row = tape.input(shape=(3, 1, 4), element=element, name="row")
    place = tape.input(shape=(), element=i64, name="place")
    updated(value, row, place).named("first")
    updated(value + 1.0, row, place).named("second")
    return tape.into_network()


@pytest.mark.parametrize("element", [f32, bf16], ids=str)
@pytest.mark.parametrize("numerics", Numerics)
def test_an_update_has_the_oracles_bits_at_any_place(numerics: Numerics, element: Element) -> None:
    network = cache(element)
    entry = network.entry(["first", "second"], numerics=numerics)
    plan = entry.lower()
    found = plan.patterns()
    assert [match.kind for match in found] == [PatternKind.ROW_UPDATE] * 2
    assert all(match.fused.taken and match.raised.taken for match in found)
    assert plan.schedule().count("row_update") == 2
    assert plan.emit_stablehlo().count("dynamic_update_slice") == 2
    compiled = plan.compile("interpreter")
    value, row = drawn(*SHAPE, element=element), drawn(3, 1, 4, seed=1, element=element)
    for place in (0, 4, 5, -1, 1 << 40):
        feeds = {"value": value, "row": row, "place": np.array(place)}
        wanted = entry.interpret(None, feeds)
        for run in (plan.forward(None, feeds), compiled.forward(None, feeds)):
            for name in ("first", "second"):
                assert run.of(name).numpy().tobytes() == wanted.of(name).numpy().tobytes()
    assert value.tobytes() == drawn(*SHAPE, element=element).tobytes()


def test_a_value_that_dies_gives_its_memory_to_the_update() -> None:
    plan = cache().entry(["second"]).lower()
    (line,) = (line for line in plan.describe().splitlines() if "'second'" in line)
    assert "  over %" in line


@pytest.mark.parametrize("change", ["another comparison", "other places", "branches", "two axes"])
def test_what_only_looks_like_an_update_is_none(change: str) -> None:
    tape = Tape()
    value = tape.input(shape=(5, 4), name="value")
    row = tape.input(shape=(1, 1) if change == "two axes" else (1, 4), name="row")
    place = tape.input(shape=(), element=i64, name="place").broadcast((5,))
    places = value.iota((5,))
    if change == "other places":
        places = tape.leaf(np.array([0, 1, 2, 4, 3]))
    equal = places.less(place) if change == "another comparison" else places.equal(place)
    mask, spread = equal.broadcast_along([1], [4]), broadcast_to(row, (5, 4))
    if change == "branches":
        value, spread = spread, value
    result = mask.select(spread, value)
    kinds = {each.kind for each in tape.into_network().entry([result.symbol]).lower().patterns()}
    assert PatternKind.ROW_UPDATE not in kinds
