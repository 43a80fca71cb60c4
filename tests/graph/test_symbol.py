"""Symbols: they cross seal, reopen, threads and pickles, and belong to one recording."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.exact import exactly, holds
from topos import Symbol, Tape, f32
from topos.errors import SymbolError


def test_a_symbol_is_the_same_after_pickle_seal_and_reopen() -> None:
    tape = Tape()
    x = tape.input(3.0)
    symbol = pickle.loads(pickle.dumps(x.symbol))
    assert symbol == x.symbol
    assert hash(symbol) == hash(x.symbol)
    assert copy.deepcopy(symbol) == symbol
    network = tape.into_network()
    again = network.into_tape()
    double = again.value(symbol) + again.value(symbol)
    grown = again.into_network()
    assert holds(grown.forward().of(double.symbol), 6.0, f32)
    assert holds(network.forward().of(symbol), 3.0, f32)
    with pytest.raises(SymbolError, match=exactly("symbol %1 was recorded after these 1 nodes")):
        network.forward().of(double.symbol)


def test_a_symbol_is_understood_by_a_pickled_network() -> None:
    tape = Tape()
    total = (tape.input(3.0) + 1.0).symbol
    network = pickle.loads(pickle.dumps(tape.into_network()))
    assert holds(network.forward().of(total), 4.0, f32)


def test_a_symbol_serves_every_thread() -> None:
    tape = Tape()
    total = (tape.input(3.0) + 1.0).symbol
    network = tape.into_network()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: network.forward().of(total), range(8)))
    assert all(holds(result, 4.0, f32) for result in results)


def test_symbols_of_two_recordings_differ_at_equal_positions() -> None:
    first, second = Tape(), Tape()
    x, y = first.input(1.0), second.input(1.0)
    assert x.symbol != y.symbol
    assert x.symbol.position == y.symbol.position
    with pytest.raises(SymbolError, match=exactly("symbol %0 belongs to another recording")):
        first.into_network().forward().of(y.symbol)


@pytest.mark.parametrize("reference", [0, None, 1.5, ("x",)], ids=repr)
def test_only_symbols_and_names_refer(reference: Any) -> None:
    tape = Tape()
    tape.input(1.0)
    kind = type(reference).__name__
    message = f"a value is referred to by a Symbol or a name, got {kind}"
    with pytest.raises(SymbolError, match=exactly(message)):
        tape.into_network().symbol(reference)


def test_a_symbol_prints_its_position() -> None:
    assert repr(Symbol(12345, 7)) == "%7"
    assert str(Symbol(12345, 7)) == "%7"
