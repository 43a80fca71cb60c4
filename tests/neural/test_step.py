"""The recorded step: the host loop's bits under Exact, and every runtime close to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import exactly, same
from tests.neural.near import units
from tests.neural.training import WEIGHTS, batches, regression, same_fields, trained
from tests.runtimes.require import require
from topos import Element, Network, Parameters, Tape, bf16, f32, f64
from topos.errors import ArgumentError, SymbolError
from topos.neural import schedule
from topos.neural.clipping import Clipped
from topos.neural.optimizer import Optimizer
from topos.neural.rules import Adam, AdamW, Lion, Sgd, matrices
from topos.neural.step import RecordedStep, record_step

STEPS = 20
WHOLE = Clipped(AdamW(schedule.warm_up(5, schedule.cosine(1e-2, 20)), policy=matrices), 1.0)
OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": Sgd(1e-2),
    "momentum": Sgd(schedule.staircase(1e-2, 5, factor=0.5), momentum=0.9),
    "nesterov": Sgd(1e-2, momentum=0.9, nesterov=True),
    "adam": Adam(1e-2),
    "whole": WHOLE,
    "lion": Lion(1e-3, weight_decay=1e-2),
}


def grown(network: Network, optimizer: Optimizer) -> tuple[Network, RecordedStep]:
    """Returns the network with one step of its weights, given in an order of their own."""
    tape = network.into_tape()
    step = record_step(tape, "loss", ["second", "first", "bias"], optimizer)
    return tape.into_network(), step


def followed(network: Network, step: RecordedStep, forward: Any, feeds: list[Any]) -> Any:
    """Returns the parameters and losses of a training by `forward`, one run a step."""
    parameters, losses = network.parameters(), []
    for batch in feeds:
        run = forward(parameters, batch)
        losses.append(run.of("loss"))
        parameters = step.advanced(parameters, run)
    return parameters, losses


@pytest.mark.parametrize(
    ("name", "element"),
    [*((name, f32) for name in OPTIMIZERS), ("whole", f64), ("whole", bf16)],
    ids=str,
)
def test_a_recorded_step_has_the_bits_of_the_host_loop(name: str, element: Element) -> None:
    optimizer, base, feeds = OPTIMIZERS[name], regression(element), batches(5, element)
    parameters, state, losses = trained(base, optimizer, feeds)
    network, step = grown(base, optimizer)
    entry = network.entry(step.roots(), numerics="exact")
    plan = entry.lower()
    compiled = plan.compile("interpreter")
    for forward in (entry.interpret, plan.forward, compiled.forward):
        later, seen = followed(network, step, forward, feeds)
        assert all(same(later.of(weight), parameters.of(weight)) for weight in WEIGHTS)
        assert all(map(same, seen, losses))
        own = step.state(later)
        assert same(own.count, state.count)
        assert all(same_fields(own.slots[slot], state.slots[slot]) for slot in optimizer.slots)


@pytest.mark.parametrize(
    ("runtime", "numerics"),
    [("interpreter", "exact"), ("interpreter", "fast"), ("xla", "exact"), ("iree", "fast")],
)
def test_an_emitted_step_trains_as_the_host_loop_does(runtime: str, numerics: str) -> None:
    require(runtime)
    base, feeds = regression(), batches(STEPS)
    parameters, _, losses = trained(base, WHOLE, feeds)
    network, step = grown(base, WHOLE)
    compiled = network.entry(step.roots(), numerics=numerics).lower().compile(runtime)
    later, seen = followed(network, step, compiled.forward, feeds)
    assert float(losses[-1]) < float(losses[0])
    exact = runtime == "interpreter" and numerics == "exact"
    for weight in WEIGHTS:
        distance = units(later.of(weight).numpy(), parameters.of(weight).numpy())
        assert distance == 0.0 if exact else distance < 16.0
    pairs = zip(seen, losses, strict=True)
    assert all(np.isclose(float(own), float(loss), rtol=1e-6, atol=0.0) for own, loss in pairs)


def test_a_step_takes_and_answers_parameters_then_state() -> None:
    network, step = grown(regression(), Sgd(0.1, momentum=0.5))
    signature = network.entry(step.roots()).lower().signature()
    state = ["optimizer/count", *(f"optimizer/velocity/{weight}" for weight in WEIGHTS)]
    assert [port.name for port in signature.parameters] == [*WEIGHTS, *state]
    assert [port.name for port in signature.inputs] == ["x", "y"]
    following = [f"next/{name}" for name in (*WEIGHTS, *state)]
    assert [port.name for port in signature.results] == [*following, "loss"]


def test_an_argument_is_donated_to_what_replaces_it_alone() -> None:
    base = regression()
    tape = base.into_tape()
    step = record_step(tape, "loss", ["first", "second"], Adam())
    network = tape.into_network()
    # The bias is not trained and the batch is the caller's: both stay.
    signature = network.entry(step.roots()).lower().signature()
    donations = step.donations(signature)
    names = {
        signature.arguments[place].name: signature.results[result].name
        for place, result in donations.items()
    }
    kept = ["count", "first_moment/first", "first_moment/second"]
    kept += ["second_moment/first", "second_moment/second"]
    donated = ["first", "second", *(f"optimizer/{name}" for name in kept)]
    assert names == {name: f"next/{name}" for name in donated}
    assert len(set(donations.values())) == len(donations)
    for place, result in donations.items():
        assert signature.arguments[place].type == signature.results[result].type
    # A result that is not declared takes no buffer.
    loss = network.entry(["loss"]).lower().signature()
    assert step.donations(loss) == {}


def test_a_state_moves_between_the_host_loop_and_the_recording() -> None:
    base, feeds = regression(), batches(6)
    parameters, state, _ = trained(base, WHOLE, feeds[:3])
    whole, finished, _ = trained(base, WHOLE, feeds)
    network, step = grown(base, WHOLE)
    resumed = step.with_state(parameters.carried(network), state)
    for batch in feeds[3:]:
        resumed = step.advanced(resumed, network.entry(step.roots()).interpret(resumed, batch))
    assert all(same(resumed.of(weight), whole.of(weight)) for weight in WEIGHTS)
    assert same(step.state(resumed).count, finished.count)
    message = "this step needs a state with the slots first_moment, second_moment, got none"
    with pytest.raises(ArgumentError, match=exactly(message)):
        step.with_state(resumed, Sgd(0.1).start(parameters))


def test_two_steps_of_one_tape_have_states_of_their_own() -> None:
    tape = regression().into_tape()
    one = record_step(tape, "loss", ["first"], Adam(), name="one")
    two = record_step(tape, "loss", ["bias"], Adam(), name="two")
    assert not {*one.following} & {*two.following}
    tape.input(1.0, name="three/second_moment/bias")
    before = repr(tape), dict(tape.columns.names)
    for name, taken in (("one", "one/count"), ("three", "three/second_moment/bias")):
        with pytest.raises(SymbolError, match=exactly(f"the name {taken!r} is already taken")):
            record_step(tape, "loss", ["bias"], Adam(), name=name)
    assert (repr(tape), tape.columns.names) == before


def test_parameters_without_names_train_too() -> None:
    tape = Tape()
    w = tape.parameter([1.0, 2.0])
    loss = (w * w).sum()
    step = record_step(tape, loss, [w], Sgd(0.25, momentum=0.5))
    network = tape.into_network()
    run = network.entry(step.roots()).interpret()
    moved: Parameters = step.advanced(network.parameters(), run)
    assert moved.of(step.parameters[0]).numpy().tolist() == [0.5, 1.0]
    assert [name for name, _ in step.named([("w", step.parameters[0])])] == [
        "w",
        "optimizer/count",
        "optimizer/velocity/w",
    ]


def test_a_step_of_nothing_is_told() -> None:
    tape = regression().into_tape()
    with pytest.raises(
        ArgumentError, match=exactly("record_step needs one parameter or more, got none")
    ):
        record_step(tape, "loss", [], Adam())


def test_only_parameters_train() -> None:
    tape = regression().into_tape()
    before = repr(tape), dict(tape.columns.names)
    for name in ("x", "loss"):
        at = tape.position(name)
        kind, title = tape.columns.forms[at].operation.name, tape.columns.title(at)
        message = f"record_step trains parameters, got the {kind} {title}"
        with pytest.raises(SymbolError, match=exactly(message)):
            record_step(tape, "loss", ["first", name], Adam())
    assert (repr(tape), tape.columns.names) == before
