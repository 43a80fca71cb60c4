"""Fields: tables of payloads that map, zip, scale and answer, and never change."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from topos import Field, Gradients, Tape, Tensor, f16, f32, f64
from topos.errors import FeedError, ReadError, SymbolError


def gradients() -> Field:
    tape = Tape()
    x = tape.parameter([1.0, 2.0], name="x")
    y = tape.input(3.0, name="y")
    (x * x).sum().named("loss")
    (y * y).named("after")
    return tape.into_network().forward().backward("loss")


def test_gradients_are_a_field() -> None:
    assert Gradients is Field
    assert holds(gradients().of("x"), [2.0, 4.0], f32)


def test_an_entry_is_read_by_symbol_or_name() -> None:
    field = gradients()
    assert same(field.of(field.symbols()[0]), field.of("x"))
    with pytest.raises(ReadError, match=exactly("%4 'after' has no entry in this Field")):
        field.of("after")
    with pytest.raises(SymbolError, match=exactly("no value is named 'z'")):
        field.of("z")


def test_entries_come_in_recording_order() -> None:
    field = gradients()
    positions = [symbol.position for symbol in field.symbols()]
    assert positions == sorted(positions) == list(range(len(field)))
    assert [symbol for symbol, _ in field.items()] == list(field.symbols())


def test_map_scale_and_zip_return_new_tables() -> None:
    field = gradients()
    doubled = field.scale(2.0)
    assert holds(doubled.of("x"), [4.0, 8.0], f32)
    assert holds(field.map(lambda own: -own).of("x"), [-2.0, -4.0], f32)
    summed = field.zip(doubled, lambda own, other: own + other)
    assert holds(summed.of("x"), [6.0, 12.0], f32)
    assert holds(field.of("x"), [2.0, 4.0], f32)
    assert type(doubled) is Field


def test_a_table_pairs_with_one_of_the_same_recording_that_has_its_entries() -> None:
    field = gradients()
    with pytest.raises(SymbolError, match=exactly("the tables belong to different recordings")):
        field.zip(gradients(), lambda own, other: own)
    tape = Tape()
    tape.parameter(1.0, name="w")
    tape.parameter(2.0, name="v")
    (tape.value("w") * 1.0).named("loss")
    tape.parameter(2.0, name="late")
    network = tape.into_network()
    table = network.forward().backward("loss")
    assert holds(table.of("v"), 0.0, f32)
    assert holds(table.of("late"), 0.0, f32)
    table = Field(network.columns, {0: table.of("w"), 1: table.of("v")})
    with pytest.raises(ReadError, match=exactly("%4 'late' has no entry in the other table")):
        network.parameters().zip(table, lambda own, other: own)


def test_payloads_are_replaced_by_payloads_of_the_same_type() -> None:
    field = gradients()
    changed = field.with_payloads({"x": Tensor([7.0, 8.0])})
    assert holds(changed.of("x"), [7.0, 8.0], f32)
    assert same(changed.of("y"), field.of("y"))
    assert holds(field.of("x"), [2.0, 4.0], f32)
    cases: list[tuple[Any, str]] = [
        (Tensor([1.0]), "%0 'x' needs f32[2], got f32[1]"),
        (Tensor([1.0, 2.0], f64), "%0 'x' needs f32[2], got f64[2]"),
        (Tensor([1.0, 2.0], f16), "%0 'x' needs f32[2], got f16[2]"),
        (np.zeros(2, np.float32), "%0 'x' needs a Tensor of f32[2], got ndarray"),
        ([1.0, 2.0], "%0 'x' needs a Tensor of f32[2], got list"),
    ]
    for payload, message in cases:
        with pytest.raises(FeedError, match=exactly(message)):
            field.with_payloads({"x": payload})
    with pytest.raises(FeedError, match=exactly("%4 'after' has no entry in this Field")):
        field.with_payloads({"after": Tensor(1.0)})


def test_a_pickled_field_answers_alike() -> None:
    field = gradients()
    twin = pickle.loads(pickle.dumps(field))
    assert twin.symbols() == field.symbols()
    assert all(same(twin.of(symbol), payload) for symbol, payload in field.items())


def test_a_repr_names_the_entries() -> None:
    assert repr(gradients()).startswith("Field(x: f32[2], y: f32[], %2: f32[2], loss: f32[]")
