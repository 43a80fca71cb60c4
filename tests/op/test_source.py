"""Sources: what constants, parameters and inputs print, keep and refuse."""

from __future__ import annotations

import pickle

import numpy as np

from topos import Tape, bool_, i32
from topos.op import Input, Leaf, Parameter


def test_a_line_of_describe_shows_one_number_and_no_more() -> None:
    tape = Tape()
    tape.leaf(1.5)
    tape.leaf([[2]], element=i32, name="two")
    tape.parameter([1.0, 2.0])
    tape.input(shape=(3,), element=bool_, name="mask")
    tape.input(0.0)
    assert tape.into_network().describe().splitlines() == [
        "network of 5 nodes: 1 parameter, 2 inputs, 2 constants",
        "%0 = leaf(1.5) : f32[]",
        "%1 = leaf(2) : i32[1, 1]  'two'",
        "%2 = parameter : f32[2]",
        "%3 = input : bool[3]  'mask'",
        "%4 = input(0.0) : f32[]",
    ]


def test_a_source_keeps_a_copy_of_its_payload_that_nobody_writes_to() -> None:
    payload = np.ones(2, np.float32)
    tape = Tape()
    for record in (tape.leaf, tape.parameter, tape.input):
        record(payload)
    payload[:] = 7.0
    network = tape.into_network()
    for node in network.nodes():
        operation = node.operation
        assert isinstance(operation, (Leaf, Parameter, Input))
        assert operation.payload is not None
        assert operation.payload.tolist() == [1.0, 1.0]
        assert not operation.payload.flags.writeable


def test_an_input_without_a_default_survives_a_pickle() -> None:
    tape = Tape()
    tape.input(shape=(2,), name="x")
    copy = pickle.loads(pickle.dumps(tape.into_network()))
    operation = next(copy.nodes()).operation
    assert isinstance(operation, Input)
    assert operation.payload is None


def test_a_source_has_no_cotangents() -> None:
    tape = Tape()
    x = tape.leaf(1.0)
    assert tape.columns.forms[0].operation.backward((), x, x) == ()
