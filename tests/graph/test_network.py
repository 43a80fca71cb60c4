"""The network: sealed, pickled, reopened once, and described whole."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from tests.exact import exactly, holds, same_runs
from topos import Network, Tape, bool_, f32, f64, i32
from topos.errors import PhaseError, SymbolError
from topos.graph.network import Feeds

ONCE = "a network reopens once: its history is linear"


def small() -> Network:
    tape = Tape()
    w = tape.parameter([[1.0, 2.0], [3.0, 4.0]], name="w")
    x = tape.input(shape=(1, 2), name="x")
    (x @ w).maximum(0.0).sum().named("loss")
    return tape.into_network()


def test_a_pickled_network_runs_to_the_same_bits() -> None:
    network = small()
    twin = pickle.loads(pickle.dumps(network))
    feeds: Feeds = {"x": [[0.1, -0.2]]}
    assert same_runs(twin.forward(None, feeds), network.forward(None, feeds))
    assert twin.describe() == network.describe()
    assert [port.name for port in twin.entry(["loss"]).lower().signature().arguments] == ["w", "x"]


def test_a_pickle_holds_the_sealed_prefix_alone() -> None:
    network = small()
    tape = network.into_tape()
    tape.value("loss").exp().named("later")
    twin = pickle.loads(pickle.dumps(network))
    assert twin.length == network.length == len(twin.columns.forms)
    with pytest.raises(SymbolError, match=exactly("no value is named 'later'")):
        twin.symbol("later")


def test_a_network_is_its_own_copy() -> None:
    network = small()
    assert copy.copy(network) is network
    assert copy.deepcopy(network) is network


def test_a_network_reopens_once() -> None:
    network = small()
    tape = network.into_tape()
    with pytest.raises(PhaseError, match=exactly(ONCE)):
        network.into_tape()
    grown = tape.into_network()
    with pytest.raises(PhaseError, match=exactly(ONCE)):
        network.into_tape()
    assert grown.into_tape().element is f32


def test_a_reopened_tape_goes_on_where_the_network_ends() -> None:
    tape = Tape(element=f64)
    tape.input(2.0, name="x")
    network = tape.into_network()
    again = network.into_tape()
    assert again.element is f64
    assert again.leaf(1.0).symbol.position == 1
    (again.value("x") * 3.0).named("y")
    grown = again.into_network()
    assert (network.length, grown.length) == (1, 4)
    assert holds(grown.forward().of("y"), 6.0, f64)
    assert len(list(network.nodes())) == 1
    with pytest.raises(SymbolError, match=exactly("no value is named 'y'")):
        network.symbol("y")


def test_a_sealed_network_keeps_its_names_whatever_its_successor_calls_them() -> None:
    network = small()
    described = network.describe()
    tape = network.into_tape()
    tape.value("w").named("weights")
    tape.value("x").named("w")
    grown = tape.into_network()
    assert network.describe() == described
    assert network.symbol("w") == grown.symbol("weights")
    assert network.parameters().of("w").shape == (2, 2)
    assert grown.parameters().of("weights").shape == (2, 2)


def test_a_network_lists_inputs_and_parameters_in_recording_order() -> None:
    tape = Tape()
    a = tape.input(1.0).symbol
    b = tape.parameter(2.0).symbol
    c = tape.input(3.0).symbol
    d = tape.parameter(4.0).symbol
    tape.leaf(5.0)
    network = tape.into_network()
    assert network.inputs() == (a, c)
    assert network.parameters().symbols() == (b, d)
    assert [float(payload) for _, payload in network.parameters().items()] == [2.0, 4.0]
    assert repr(network) == "Network(5 nodes)"


def test_a_node_is_a_view_of_one_entry() -> None:
    network = small()
    node = list(network.nodes())[-1]
    assert node.name == "loss"
    assert node.operation.name == "sum"
    assert node.location is None
    assert [symbol.position for symbol in node.operands] == [node.symbol.position - 1]
    assert str(node.type) == "f32[]"


def test_describe_is_a_summary_and_a_line_a_node() -> None:
    tape = Tape(locations=True)
    mask = tape.input(shape=(2,), element=bool_, name="mask")
    count = tape.parameter([1, 2], element=i32, name="count")
    mask.select(count, count * 3).named("chosen")
    file = str(Path(__file__))
    lines = tape.into_network().describe().replace(file, "FILE").splitlines()
    first = test_describe_is_a_summary_and_a_line_a_node.__code__.co_firstlineno
    assert lines == [
        "network of 5 nodes: 1 parameter, 1 input, 1 constant",
        f"%0 = input : bool[2]  'mask'  at FILE:{first + 2}:12",
        f"%1 = parameter : i32[2]  'count'  at FILE:{first + 3}:13",
        f"%2 = leaf : i32[2]  at FILE:{first + 4}:24",
        f"%3 = mul %1 %2 : i32[2]  at FILE:{first + 4}:24",
        f"%4 = select %0 %1 %3 : i32[2]  'chosen'  at FILE:{first + 4}:5",
    ]


def test_an_empty_network_is_described() -> None:
    assert Tape().into_network().describe() == (
        "network of 0 nodes: 0 parameters, 0 inputs, 0 constants"
    )
