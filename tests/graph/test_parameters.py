"""Parameters: immutable states that steps replace and that carry across a reopening."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from topos import Network, Parameters, Symbol, Tape, Tensor, f32
from topos.engine import schedule
from topos.errors import FeedError, ReadError, SymbolError
from topos.graph import field
from topos.payload.kernels.clean import has_nan


def line() -> Network:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    b = tape.parameter(0.5, name="b")
    x = tape.input([1.0, 1.0], name="x")
    ((w * x).sum() + b).named("loss")
    return tape.into_network()


def test_the_initial_state_is_what_was_recorded() -> None:
    parameters = line().parameters()
    assert holds(parameters.of("w"), [1.0, 2.0], f32)
    assert holds(parameters.of("b"), 0.5, f32)
    assert len(parameters) == 2
    assert repr(parameters) == "Parameters(w: f32[2], b: f32[])"
    with pytest.raises(ReadError, match=exactly("%2 'x' has no entry in this Parameters")):
        parameters.of("x")


def test_a_step_applies_the_rule_and_leaves_the_old_state() -> None:
    network = line()
    parameters = network.parameters()
    gradients = network.forward(parameters).backward("loss")
    stepped = parameters.step(gradients, lambda w, g: w - 0.5 * g)
    assert type(stepped) is Parameters
    assert holds(stepped.of("w"), [0.5, 1.5], f32)
    assert holds(stepped.of("b"), 0.0, f32)
    assert holds(parameters.of("w"), [1.0, 2.0], f32)
    assert holds(network.forward(stepped).of("loss"), 2.0, f32)
    assert holds(network.forward().of("loss"), 3.5, f32)


def test_a_step_may_tell_parameters_apart() -> None:
    network = line()
    parameters = network.parameters()
    seen: list[Symbol] = []

    def rule(symbol: Symbol, payload: Tensor, gradient: Tensor) -> Tensor:
        seen.append(symbol)
        return payload if symbol == network.symbol("b") else gradient

    stepped = parameters.step_each(network.forward().backward("loss"), rule)
    assert seen == list(parameters.symbols())
    assert holds(stepped.of("w"), [1.0, 1.0], f32)
    assert same(stepped.of("b"), parameters.of("b"))


def test_a_rule_keeps_the_type() -> None:
    network = line()
    parameters, gradients = network.parameters(), network.forward().backward("loss")
    with pytest.raises(FeedError, match=exactly("%0 'w' needs f32[2], got f32[]")):
        parameters.step(gradients, lambda w, g: w.sum())
    answers: list[tuple[Any, str]] = [(np.zeros(2), "ndarray"), (None, "NoneType"), (1.0, "float")]
    for answer, kind in answers:

        def rule(payload: Tensor, gradient: Tensor, answer: Any = answer) -> Tensor:
            wrong: Tensor = answer
            return wrong

        message = f"%0 'w' needs a Tensor of f32[2], got {kind}"
        with pytest.raises(FeedError, match=exactly(message)):
            parameters.step(gradients, rule)


def test_a_step_takes_gradients_of_the_same_recording() -> None:
    gradients = line().forward().backward("loss")
    with pytest.raises(SymbolError, match=exactly("the tables belong to different recordings")):
        line().parameters().step(gradients, lambda w, g: w)


def test_recorded_gradients_step_the_parameters_they_are_for() -> None:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    loss = (w * w).sum()
    adjoints = tape.differentiate(loss, [w])
    network = tape.into_network()
    run = network.entry([loss.symbol, *adjoints.roots()]).lower().forward()
    stepped = network.parameters().step(run.recorded_gradients(adjoints), lambda w, g: w - g)
    assert holds(stepped.of("w"), [-1.0, -2.0], f32)


def test_parameters_of_another_network_are_refused() -> None:
    network = line()
    for run in (network.forward, network.entry(["loss"]).lower().forward):
        with pytest.raises(
            SymbolError, match=exactly("the parameters belong to another recording")
        ):
            run(line().parameters())


def test_parameters_that_lost_their_type_are_refused() -> None:
    network = line()
    spread = network.parameters().map(lambda own: own.sum())
    for run in (network.forward, network.entry(["loss"]).lower().forward):
        with pytest.raises(FeedError, match=exactly("%0 'w' needs f32[2], got f32[]")):
            run(spread)


def test_parameters_carry_to_a_network_that_grew() -> None:
    network = line()
    stepped = network.parameters().scale(2.0)
    tape = network.into_tape()
    extra = tape.parameter(10.0, name="extra")
    (tape.value("loss") + extra).named("total")
    grown = tape.into_network()
    with pytest.raises(
        FeedError,
        match=exactly("%6 'extra' has no payload: carry the parameters to this network"),
    ):
        grown.forward(stepped)
    carried = stepped.carried(grown)
    assert holds(carried.of("extra"), 10.0, f32)
    assert holds(grown.forward(carried).of("total"), 17.0, f32)
    assert holds(network.forward(carried).of("loss"), 7.0, f32)
    with pytest.raises(
        SymbolError, match=exactly("parameters carry only to a network of the same recording")
    ):
        stepped.carried(line())


def test_pickled_parameters_serve_the_network() -> None:
    network = line()
    twin = pickle.loads(pickle.dumps(network.parameters().scale(2.0)))
    assert holds(network.forward(twin).of("loss"), 7.0, f32)
    copy = pickle.loads(pickle.dumps(network))
    assert holds(copy.forward(twin).of("loss"), 7.0, f32)


def declared() -> Network:
    tape = Tape()
    weights = tape.parameter(shape=(2,), name="weights")
    (weights * tape.parameter([3.0, 4.0], name="scale")).named("scaled")
    return tape.into_network()


def test_a_parameter_declared_by_its_shape_takes_its_payload_later() -> None:
    network = declared()
    state = network.parameters({"weights": Tensor([1.0, 2.0])})
    assert holds(network.forward(state).of("scaled"), [3.0, 8.0], f32)
    other = network.parameters({"weights": Tensor([1.0, 2.0]), "scale": Tensor([0.5, 0.5])})
    run = network.entry(["scaled"]).lower().forward(other)
    assert holds(run.of("scaled"), [0.5, 1.0], f32)
    assert pickle.loads(pickle.dumps(network)).describe() == network.describe()


def test_a_parameter_without_a_payload_is_told() -> None:
    network = declared()
    missing = "%0 'weights' needs a payload of f32[2], got none"
    with pytest.raises(FeedError, match=exactly(missing)):
        network.parameters()
    with pytest.raises(
        FeedError,
        match=exactly("%0 'weights' was recorded by its shape alone: bring parameters"),
    ):
        network.forward()
    with pytest.raises(FeedError, match=exactly("%0 'weights' needs f32[2], got f32[3]")):
        network.parameters({"weights": Tensor([1.0, 2.0, 3.0])})
    strange = "%2 'scaled' is no parameter and takes no payload"
    with pytest.raises(FeedError, match=exactly(strange)):
        network.parameters({"weights": Tensor([1.0, 2.0]), "scaled": Tensor([1.0, 2.0])})


TURNED = np.arange(6.0, dtype=np.float32).reshape(2, 3).T


def matrix(payload: Any = TURNED) -> Network:
    tape = Tape()
    (tape.parameter(payload, name="w") * 2.0).named("y")
    return tape.into_network()


@pytest.mark.parametrize(
    "state",
    [
        lambda n, w: n.parameters(),
        lambda n, w: n.parameters({"w": w}),
        lambda n, w: n.parameters().with_payloads({"w": w}),
        lambda n, w: n.parameters().map(lambda own: w),
        lambda n, w: n.parameters().step(n.parameters(), lambda own, gradient: w),
        lambda n, w: n.parameters().zip(n.parameters(), lambda own, other: w),
        lambda n, w: pickle.loads(pickle.dumps(n.parameters({"w": w}))),
        lambda n, w: n.parameters({"w": w}).carried(n),
    ],
)
def test_payloads_are_held_row_by_row_so_that_no_run_copies_them(state: Any) -> None:
    network = matrix()
    turned = Tensor(np.ascontiguousarray(TURNED.T)).transpose()
    assert not turned.numpy().flags.c_contiguous
    held = state(network, turned)
    assert holds(held.of("w"), TURNED.tolist(), f32)
    assert held.of("w").numpy().flags.c_contiguous
    for plan in (network.entry(["y"], numerics=each).lower() for each in ("fast", "exact")):
        (argument,) = plan.arguments(held)
        assert np.shares_memory(argument, held.of("w").numpy())
        assert holds(plan.forward(held).of("y"), (2.0 * TURNED).tolist(), f32)


def test_a_payload_that_lies_row_by_row_is_not_copied() -> None:
    own = Tensor(np.ones((3, 2), np.float32))
    assert matrix().parameters({"w": own}).of("w") is own


def test_what_the_caller_writes_later_changes_no_payload() -> None:
    array = np.ones((2, 3), np.float32)
    network, tensor = matrix(array.T), Tensor(array).transpose()
    states = network.parameters(), network.parameters({"w": tensor})
    array[:] = 7.0
    for state in states:
        assert holds(state.of("w"), np.ones((3, 2)).tolist(), f32)
        with pytest.raises(ValueError, match="read-only"):
            state.of("w").numpy()[0, 0] = 1.0


def test_a_nan_among_the_payloads_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, looked = matrix(), list[Any]()

    def counted(array: Any) -> bool:
        looked.append(array)
        return has_nan(array)

    for module in (field, schedule):
        monkeypatch.setattr(module, "has_nan", counted)
    plan = network.entry(["y"], numerics="exact").lower()
    plan.forward(network.parameters())
    for number, calls in ((1.0, 1), (np.nan, 1 + 2)):
        state = network.parameters({"w": Tensor(np.full((3, 2), number, np.float32))})
        looked.clear()
        bits = {plan.forward(state).of("y").numpy().tobytes() for _ in range(2)}
        assert bits == {network.entry(["y"]).interpret(state).of("y").numpy().tobytes()}
        assert len(looked) == calls
