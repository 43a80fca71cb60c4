"""Feeds and parameters: what a run takes, what it refuses, and that both executors agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same_runs
from topos import Network, Tape, Tensor, bf16, bool_, f32, f64, i64
from topos.errors import FeedError, SymbolError


def double(element: Any = f32) -> Network:
    tape = Tape(element=element)
    x = tape.input(shape=(2,), name="x")
    w = tape.parameter([1, 1], name="w")
    (x + x * w).named("y")
    return tape.into_network()


def executors(network: Network) -> list[Any]:
    entry = network.entry(["y"])
    backward = network.entry(["y"], backward=True)
    return [network.forward, entry.interpret, entry.lower().forward, backward.lower().forward]


FEEDS: dict[str, Any] = {
    "list": [1, 2.5],
    "tuple": (1.0, 2.5),
    "array": np.array([1.0, 2.5], np.float32),
    "strided": np.array([[1.0, 0.0], [2.5, 0.0]], np.float32)[:, 0],
    "reversed": np.array([2.5, 1.0], np.float32)[::-1],
    "fortran": np.asfortranarray(np.array([[1.0, 2.5]], np.float32))[0],
    "read_only": Tensor([1.0, 2.5]).numpy(),
    "tensor": Tensor([1.0, 2.5]),
    "scalars": [np.float64(1.0), np.float32(2.5)],
    "masked": np.ma.masked_array(np.array([1.0, 2.5], np.float32), mask=[True, False]),
}


@pytest.mark.parametrize("feed", FEEDS.values(), ids=FEEDS)
def test_any_payload_of_the_type_is_fed(feed: Any) -> None:
    for run in executors(double()):
        result = run(None, {"x": feed}).of("y")
        assert holds(result, [2.0, 5.0], f32)
        assert type(result.numpy()) is np.ndarray


@pytest.mark.parametrize("element", [f64, bf16, i64], ids=str)
def test_numbers_and_lists_take_the_element_of_the_input(element: Any) -> None:
    for run in executors(double(element)):
        assert holds(run(None, {"x": [1, 2]}).of("y"), [2, 4], element)


REFUSED: dict[str, tuple[Any, str]] = {
    "shape": (np.zeros(3, np.float32), "%0 'x' needs f32[2], got f32[3]"),
    "rank": (np.zeros((2, 1), np.float32), "%0 'x' needs f32[2], got f32[2, 1]"),
    "scalar": (1.0, "%0 'x' needs f32[2], got f32[]"),
    "element": (np.zeros(2), "%0 'x' needs f32[2], got f64[2]"),
    "integers": (np.zeros(2, np.int64), "%0 'x' needs f32[2], got i64[2]"),
    "tensor": (Tensor([1, 2], i64), "%0 'x' needs f32[2], got i64[2]"),
    "truth": (Tensor([1, 0], bool_), "%0 'x' needs f32[2], got bool[2]"),
    "text": ("12", "%0 'x' needs f32[2]: a payload of f32 needs numbers, got '12'"),
    "none": (None, "%0 'x' needs f32[2]: a payload of f32 needs numbers, got None"),
    "unknown": (
        np.zeros(2, np.uint8),
        "%0 'x' needs f32[2]: no element is stored as uint8;"
        " there are f64, f32, f16, bf16, i64, i32, bool",
    ),
    "big_endian": (
        np.zeros(2, ">f4"),
        "%0 'x' needs f32[2]: no element is stored as >f4;"
        " there are f64, f32, f16, bf16, i64, i32, bool",
    ),
}


@pytest.mark.parametrize(("feed", "message"), REFUSED.values(), ids=REFUSED)
def test_a_payload_of_another_type_is_refused(feed: Any, message: str) -> None:
    for run in executors(double()):
        with pytest.raises(FeedError, match=exactly(message)):
            run(None, {"x": feed})


def test_an_input_without_a_default_is_fed() -> None:
    for run in executors(double()):
        nothing: list[Any] = [{}, None]
        for feeds in nothing:
            with pytest.raises(FeedError, match=exactly("%0 'x' needs a feed of f32[2], got none")):
                run(None, feeds)


def test_a_default_serves_until_something_is_fed() -> None:
    tape = Tape()
    x = tape.input([1.0, 2.0], name="x")
    (x * 2.0).named("y")
    network = tape.into_network()
    for run in executors(network):
        assert holds(run().of("y"), [2.0, 4.0], f32)
        assert holds(run(None, {x.symbol: [3, 4]}).of("y"), [6.0, 8.0], f32)
        assert holds(run().of("y"), [2.0, 4.0], f32)


def test_only_inputs_are_fed() -> None:
    for run in executors(double()):
        for name, position in [("w", 1), ("y", 3)]:
            message = f"%{position} {name!r} is not an input and cannot be fed"
            with pytest.raises(FeedError, match=exactly(message)):
                run(None, {"x": [1, 2], name: [1, 2]})
        with pytest.raises(SymbolError, match=exactly("no value is named 'z'")):
            run(None, {"x": [1, 2], "z": [1, 2]})
        foreign = Tape().input(1.0).symbol
        with pytest.raises(SymbolError, match=exactly("symbol %0 belongs to another recording")):
            run(None, {foreign: 1.0})


def test_a_feed_that_the_results_do_not_need_is_checked_all_the_same() -> None:
    tape = Tape()
    tape.input(shape=(2,), name="x")
    tape.leaf(1.0, name="y")
    for run in executors(tape.into_network())[1:]:
        assert holds(run(None, {"x": [1, 2]}).of("y"), 1.0, f32)
        with pytest.raises(FeedError, match=exactly("%0 'x' needs f32[2], got f32[1]")):
            run(None, {"x": [1]})


def test_parameters_come_first_and_feeds_map() -> None:
    for run in executors(double()):
        with pytest.raises(
            FeedError, match=exactly("a run needs Parameters before its feeds, got dict")
        ):
            run({"x": [1, 2]})
        with pytest.raises(
            FeedError, match=exactly("feeds map inputs to payloads, as {'x': ...}, got list")
        ):
            run(None, [[1, 2]])


def test_a_refused_run_leaves_the_plan_usable() -> None:
    network = double()
    plan = network.entry(["y"]).lower()
    with pytest.raises(FeedError):
        plan.forward(None, {"x": [1]})
    oracle = network.entry(["y"]).interpret(None, {"x": [1, 2]})
    assert same_runs(plan.forward(None, {"x": [1, 2]}), oracle)


class Foreign:
    """An array of another library, such as jax: numpy reads it by its protocol."""

    def __init__(self, numbers: list[float]) -> None:
        self._numbers = np.array(numbers, np.float32)
        self.dtype, self.shape = self._numbers.dtype, self._numbers.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._numbers, dtype, copy=copy)


def test_an_array_of_another_library_is_fed_like_any_other() -> None:
    for run in executors(double()):
        result = run(None, {"x": Foreign([1.0, 2.5])}).of("y")
        assert holds(result, [2.0, 5.0], f32)
        assert type(result.numpy()) is np.ndarray
