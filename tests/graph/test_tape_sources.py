"""Sources and literals of a tape: elements, shapes, bits, and refusals that record nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Tape, Tensor, bf16, bool_, f32, f64, i32, i64
from topos.errors import (
    ElementError,
    PhaseError,
    ShapeError,
    SymbolError,
)


def length(tape: Tape) -> int:
    return len(tape.columns.forms)


def test_a_failed_source_takes_no_name() -> None:
    tape = Tape()
    with pytest.raises(ElementError):
        tape.leaf("one", name="x")
    with pytest.raises(ShapeError):
        tape.input(shape=(-1,), name="x")
    with pytest.raises(ShapeError):
        tape.input(name="x")
    assert length(tape) == 0
    assert tape.leaf(1.0, name="x").symbol.position == 0


def test_equal_literals_are_recorded_once_and_different_bits_apart() -> None:
    tape = Tape()
    x = tape.input([0.0, 0.0])
    numbers: list[Any] = [0.0, -0.0, math.nan, math.inf, 1, 1.5, np.float32(-0.0), np.float32(0.0)]
    wanted = np.array([float(number) for number in numbers], np.float32)
    filled = [x.fill(number) for number in numbers]
    assert filled[0].symbol == x.fill(0.0).symbol
    assert filled[5].symbol == x.fill(1.5).symbol
    symbols = [value.symbol for value in filled]
    run = tape.into_network().forward()
    for symbol, number in zip(symbols, wanted, strict=True):
        assert holds(run.of(symbol), [number, number], f32)


def test_a_literal_has_the_shape_and_element_of_what_stands_beside_it() -> None:
    tape = Tape()
    for element in (f64, bf16, i32, bool_):
        constant = tape.input(shape=(2, 0), element=element).fill(1)
        assert str(constant.type) == f"{element}[2, 0]"
    long = tape.input(0, element=i64).fill(2**53 + 1).symbol
    run = tape.into_network().entry([long]).interpret()
    assert holds(run.of(long), 2**53 + 1, i64)


def test_payloads_bring_their_element_or_take_that_of_the_tape() -> None:
    tape = Tape(element=f64)
    assert tape.leaf(1.0).element is f64
    assert tape.parameter([1, 2]).element is f64
    assert tape.input([1, 2], element=i64).element is i64
    assert tape.leaf(np.zeros(2, np.float32), element=f32).element is f32
    assert tape.leaf(np.zeros(2, np.int32)).element is i32
    message = (
        "a floating array needs element=f64, the tape's, or an element of its own named, got f32"
    )
    with pytest.raises(ElementError, match=exactly(message)):
        tape.parameter(np.zeros(2, np.float32))
    assert tape.leaf(Tensor([1.0], bf16)).element is bf16
    assert tape.input(shape=(1,)).element is f64
    assert tape.input(shape=(1,), element=bool_).element is bool_
    message = "a payload of f32 needs an array of float32, got float64"
    with pytest.raises(ElementError, match=exactly(message)):
        tape.leaf(np.zeros(2), element=f32)
    with pytest.raises(
        ElementError,
        match=exactly("a payload of f32 needs an array of float32, got bfloat16"),
    ):
        tape.leaf(Tensor([1.0], bf16), element=f32)


@pytest.mark.parametrize("element", [np.float32, "f32", np.dtype("f4")], ids=repr)
def test_a_dtype_is_no_element(element: Any) -> None:
    tape = Tape()
    message = f"an element is an Element such as f32, got {element!r}"
    actions: list[Callable[[], object]] = [
        lambda: Tape(element=element),
        lambda: tape.leaf(1.0, element=element, name="x"),
        lambda: tape.parameter(np.zeros(2, np.float32), element=element),
        lambda: tape.input(shape=(2,), element=element),
    ]
    for action in actions:
        with pytest.raises(ElementError, match=exactly(message)):
            action()
    x = tape.input(shape=(2,), name="x")
    message = f"convert needs an Element such as f32, got {element!r}"
    with pytest.raises(ElementError, match=exactly(message)):
        x.convert(element)
    assert length(tape) == 1


@pytest.mark.parametrize("name", [3, ("x",), ["x"]], ids=repr)
def test_a_name_is_text(name: Any) -> None:
    tape = Tape()
    x = tape.leaf(1.0)
    actions: list[Callable[[], object]] = [
        lambda: tape.leaf(1.0, name=name),
        lambda: x.named(name),
    ]
    for action in actions:
        with pytest.raises(
            SymbolError, match=exactly(f"a name is text of one letter or more, got {name!r}")
        ):
            action()
    assert length(tape) == 1


def test_a_value_is_no_payload() -> None:
    tape = Tape()
    x: Any = tape.input(shape=())
    with pytest.raises(PhaseError, match=r"^a recorded value has no numbers for numpy"):
        tape.leaf(x)


def test_an_input_has_a_default_or_a_shape() -> None:
    tape = Tape()
    assert tape.input(2.0).shape == ()
    assert tape.input(shape=(2, 3)).shape == (2, 3)
    assert tape.input(shape=()).shape == ()
    with pytest.raises(ShapeError, match=exactly("input needs a payload or a shape, got both")):
        tape.input(1.0, shape=())
    with pytest.raises(ShapeError, match=exactly("input needs a payload or a shape, got neither")):
        tape.input()
