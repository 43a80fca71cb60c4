"""Detaching: any nesting of values becomes the same nesting of symbols."""

from __future__ import annotations

from typing import NamedTuple

from topos import Symbol, Tape, Value, detach


class Layer(NamedTuple):
    weights: Value
    extra: list[Value | int]


def test_every_value_of_a_nested_structure_becomes_its_symbol() -> None:
    tape = Tape()
    x, y = tape.input(shape=()), tape.input(shape=())
    tree: dict[object, object] = {
        "layer": Layer(x, [y, 3]),
        "pair": (x, {"deep": [[y]]}),
        1: "text",
        "nothing": None,
        "empty": ((), [], {}),
    }
    a, b = x.symbol, y.symbol
    detached = detach(tree)
    assert detached == {
        "layer": (a, [b, 3]),
        "pair": (a, {"deep": [[b]]}),
        1: "text",
        "nothing": None,
        "empty": ((), [], {}),
    }
    assert isinstance(detached["layer"], Layer)
    assert list(detached) == list(tree)


def test_what_holds_no_value_stays_equal() -> None:
    symbol = Symbol(1, 2)
    assert detach(symbol) == symbol
    assert isinstance(detach(symbol), Symbol)
    assert detach({"a": [1, (2, symbol)]}) == {"a": [1, (2, symbol)]}


def test_one_value_and_a_whole_record_detach_alike() -> None:
    network, symbol = Tape.record(lambda tape: tape.leaf(1.0))
    assert symbol == Symbol(network.columns.origin, 0)
    _, nothing = Tape.record(lambda tape: None)
    assert nothing is None
