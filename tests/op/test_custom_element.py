"""An element of the user's own: recorded, computed, differentiated, emitted, pickled."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Adjoints, Element, Network, Tape, Tensor, f32
from topos.errors import ElementError
from topos.graph.network import Feeds

f8 = Element("f8E5M2", ml_dtypes.float8_e5m2, compute=np.float32)


def recorded() -> tuple[Network, Adjoints]:
    tape = Tape(element=f8)
    weights = tape.parameter([1.0, 2.5], name="weights")
    x = tape.input(shape=(2,), name="x")
    loss = (weights * x + 0.3).sum().named("loss")
    adjoints = tape.differentiate(loss, [weights])
    return tape.into_network(), adjoints


def test_arithmetic_rounds_to_the_element() -> None:
    left, right = Tensor([1.0, 2.5, 0.3], f8), Tensor([2.0, 4.0, 0.1], f8)
    assert holds(left, [1.0, 2.5, 0.3125], f8)
    assert holds(left + right, [3.0, 6.0, 0.375], f8)
    assert holds(left * right, [2.0, 10.0, 0.03125], f8)
    assert holds(left.maximum(right), [2.0, 4.0, 0.3125], f8)
    assert holds(-left, [-1.0, -2.5, -0.3125], f8)
    assert holds(left.convert(f32), [1.0, 2.5, 0.3125], f32)


def test_a_network_runs_and_differentiates() -> None:
    network, adjoints = recorded()
    feeds: Feeds = {"x": [1.0, 2.0]}
    run = network.entry(["loss", *adjoints.roots()]).lower().forward(None, feeds)
    oracle = network.forward(None, feeds)
    assert holds(oracle.of("loss"), 6.0, f8)
    assert holds(run.of("loss"), 6.0, f8)
    assert holds(oracle.backward("loss").of("weights"), [1.0, 2.0], f8)
    assert holds(run.of(adjoints.roots()[0]), [1.0, 2.0], f8)


def test_an_array_of_the_dtype_is_fed_to_plans_and_to_the_oracle() -> None:
    network, _ = recorded()
    feeds: Feeds = {"x": np.array([1.0, 2.0], ml_dtypes.float8_e5m2)}
    assert holds(network.entry(["loss"]).lower().forward(None, feeds).of("loss"), 6.0, f8)
    assert holds(network.forward(None, feeds).of("loss"), 6.0, f8)


def test_a_network_is_emitted_in_the_spelling_of_the_element() -> None:
    network, _ = recorded()
    assert "tensor<2xf8E5M2>" in network.entry(["loss"]).lower().emit_stablehlo()


def test_a_pickled_network_keeps_one_element() -> None:
    network, _ = recorded()
    copy = pickle.loads(pickle.dumps(network))
    assert holds_as(copy.forward(None, {"x": [1.0, 2.0]}).of("loss"), 6.0)


def holds_as(tensor: Tensor, number: float) -> bool:
    """Returns whether `tensor` is `number`; an unpickled element is another object."""
    return tensor.element.name == f8.name and float(tensor) == number


def test_an_array_of_a_foreign_dtype_needs_its_element_said() -> None:
    array = np.array([1.0], ml_dtypes.float8_e5m2)
    assert Tape().leaf(array, element=f8).element is f8
    message = "no element is stored as float8_e5m2; there are f64, f32, f16, bf16, i64, i32, bool"
    with pytest.raises(ElementError, match=exactly(message)):
        Tape().leaf(array)
