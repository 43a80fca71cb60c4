"""The tape: what it takes, what it refuses, and that a refusal leaves it as it was."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import pytest

from tests.exact import exactly, holds, same
from topos import Element, Network, Tape, Tensor, Value, bool_, f32, f64, i32
from topos.errors import (
    PhaseError,
    ShapeError,
    SymbolError,
    ToposError,
)

SEALED = "the tape is sealed: its values are dead, symbols name what they were"
FOREIGN = "a tape records from the thread that opened it"


def length(tape: Tape) -> int:
    return len(tape.columns.forms)


def in_a_thread(action: Callable[[], object]) -> BaseException | None:
    """Returns what `action` raises when another thread calls it."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            action()
        except ToposError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_a_tape_is_written_by_the_thread_that_opened_it() -> None:
    tape = Tape()
    x = tape.parameter(1.0, name="x")
    x + 1.0
    before = length(tape)
    actions: list[Callable[[], object]] = [
        lambda: x + x,
        lambda: x + 1.0,
        lambda: tape.leaf(1.0),
        lambda: tape.input(shape=()),
        lambda: x.named("y"),
        lambda: tape.value("x"),
        lambda: tape.differentiate(x, [x]),
        tape.into_network,
    ]
    for action in actions:
        error = in_a_thread(action)
        assert isinstance(error, PhaseError)
        assert str(error) == FOREIGN
    assert length(tape) == before
    assert isinstance(tape.into_network(), Network)


def test_a_sealed_tape_records_nothing() -> None:
    tape = Tape()
    x = tape.parameter(1.0, name="x")
    y = x + 1.0
    tape.into_network()
    actions: list[Callable[[], object]] = [
        lambda: x + x,
        lambda: y + 1.0,
        lambda: y * 3.0,
        lambda: -x,
        lambda: tape.leaf(1.0),
        lambda: tape.parameter(1.0),
        lambda: tape.input(shape=()),
        lambda: x.named("y"),
        lambda: tape.value("x"),
        lambda: tape.differentiate(y, [x]),
        tape.into_network,
    ]
    for action in actions:
        with pytest.raises(PhaseError, match=exactly(SEALED)):
            action()
    assert length(tape) == 3


def test_a_sealed_value_still_tells_what_it_was() -> None:
    tape = Tape()
    x = tape.parameter([1.0])
    network = tape.into_network()
    assert str(x.type) == "f32[1]"
    assert network.symbol(x.symbol) == x.symbol
    assert x.tape is tape


def test_values_of_two_tapes_do_not_meet() -> None:
    first, second = Tape(), Tape()
    x, y = first.input(shape=()), second.input(shape=())
    with pytest.raises(SymbolError, match=exactly("add got a value of another tape")):
        x + y
    with pytest.raises(SymbolError, match=exactly("the value belongs to another tape")):
        first.differentiate(x, [y])
    message = "symbol %0 belongs to another recording"
    with pytest.raises(SymbolError, match=exactly(message)):
        first.differentiate(x, [y.symbol])
    with pytest.raises(SymbolError, match=exactly(message)):
        first.value(y.symbol)
    assert (length(first), length(second)) == (1, 1)


def test_a_value_of_the_tape_before_the_seal_is_dead_on_the_tape_after_it() -> None:
    tape = Tape()
    old = tape.input(shape=(), name="x")
    again = tape.into_network().into_tape()
    new = again.value("x")
    with pytest.raises(SymbolError, match=exactly("add got a value of another tape")):
        new + old
    with pytest.raises(PhaseError, match=exactly(SEALED)):
        old + new
    assert length(again) == 1


def test_names_find_values_and_are_taken_once() -> None:
    tape = Tape()
    x = tape.input(shape=(), name="x")
    y = (x + x).named("y")
    assert tape.value("y").symbol == y.symbol
    assert tape.value(y.symbol).symbol == y.symbol
    message = "the name 'x' is already taken"
    actions: list[Callable[[], object]] = [
        lambda: y.named("x"),
        lambda: tape.leaf(1.0, name="x"),
        lambda: tape.parameter(1.0, name="x"),
        lambda: tape.input(shape=(), name="x"),
    ]
    for action in actions:
        with pytest.raises(SymbolError, match=exactly(message)):
            action()
    assert length(tape) == 2
    with pytest.raises(SymbolError, match=exactly("no value is named 'z'")):
        tape.value("z")
    tape.input(shape=(), name="temperature")
    message = "no value is named 'temprature'; did you mean 'temperature'?"
    with pytest.raises(SymbolError, match=exactly(message)):
        tape.value("temprature")


def test_a_new_name_frees_the_old_one() -> None:
    tape = Tape()
    x = tape.input(shape=(), name="x")
    assert x.named("x") is x
    x.named("input")
    y = tape.input(shape=(), name="x")
    network = tape.into_network()
    assert network.symbol("input") == x.symbol
    assert network.symbol("x") == y.symbol


def test_a_failed_expression_leaves_the_tape_as_it_was() -> None:
    tape = Tape()
    x, y = tape.input(shape=(2,)), tape.input(shape=(3,), element=i32)
    mask = tape.input(shape=(2,), element=bool_)
    before = length(tape)
    actions: list[Callable[[], object]] = [
        lambda: x + y,
        lambda: x @ x,
        lambda: y.exp(),
        lambda: x.sum(1),
        lambda: x.gather(x, 0),
        lambda: x + "1",  # type: ignore[operator]  # What is refused.
        lambda: y + 0.5,
        lambda: mask + 1,
        lambda: tape.differentiate(x, [x]),
        lambda: tape.differentiate(y, []),
    ]
    for action in actions:
        with pytest.raises(ToposError):
            action()
        assert length(tape) == before
    total = (x + 1.0).sum().symbol
    network = tape.into_network()
    assert holds(network.entry([total]).interpret(None, {x.symbol: [1, 2]}).of(total), 5.0, f32)


def test_record_seals_and_detaches() -> None:
    def program(tape: Tape) -> dict[str, Value]:
        assert tape.element is f64
        x = tape.input(1.0, name="x")
        return {"x": x, "y": x + x}

    network, names = Tape.record(program, element=f64)
    assert network.symbol("x") == names["x"]
    assert holds(network.forward().of(names["y"]), 2.0, f64)


def test_a_program_that_raises_returns_nothing() -> None:
    def program(tape: Tape) -> Value:
        return tape.input(shape=(2,)) + tape.input(shape=(3,))

    with pytest.raises(ShapeError, match=exactly("add needs equal shapes, got (2,) and (3,)")):
        Tape.record(program)


def test_tapes_and_values_stay_in_their_process() -> None:
    tape = Tape()
    x = tape.input(shape=())
    for item in (tape, x):
        with pytest.raises(
            PhaseError,
            match=exactly("a tape cannot be pickled: seal it and pickle the network"),
        ):
            pickle.dumps(item)


def test_reprs_tell_phase_and_type() -> None:
    tape = Tape()
    x = tape.input(shape=(2,))
    assert repr(tape) == "Tape(open, 1 nodes, f32)"
    assert repr(x) == "Value(%0, f32[2])"
    tape.into_network()
    assert repr(tape) == "Tape(sealed, 1 nodes, f32)"


@pytest.mark.parametrize("element", [f32, f64], ids=str)
def test_recording_computes_nothing_that_a_run_does_not(element: Element) -> None:
    tape = Tape(element=element)
    x = tape.input(shape=(2,), name="x")
    y = (x / 0.0).named("y")
    network = tape.into_network()
    run = network.entry([y.symbol]).interpret(None, {"x": [1.0, 0.0]})
    assert same(run.of("y"), Tensor([1.0, 0.0], element) / 0.0)
