"""Compiled plans: parameters held by the runtime, and training steps whose state stays there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.require import require
from topos import (
    AdamW,
    Mlp,
    Plan,
    RecordedStep,
    Run,
    Symbol,
    Tape,
    cross_entropy,
    i64,
    init,
    label,
    record_step,
    runtimes,
)
from topos import parameters as parameters_of
from topos.errors import ArgumentError, ExecutionError, FeedError, SymbolError
from topos.runtimes._compiled import CompiledPlan

RUNTIMES = runtimes.names()
FEEDS = {
    "pixels": init.uniform(3, 0.0, 1.0)((6, 8)).numpy(),
    "classes": np.arange(6, dtype=np.int64) % 3,
}


def recorded() -> tuple[Plan, RecordedStep]:
    tape = Tape()
    model = Mlp(tape, (8, 3), weights=init.xavier(1))
    label(tape, model)
    pixels = tape.input(shape=[6, 8], name="pixels")
    classes = tape.input(shape=[6], element=i64, name="classes")
    loss = cross_entropy(model.express(tape, pixels), classes).named("loss")
    step = record_step(tape, loss, parameters_of(model), AdamW(1e-2))
    return tape.into_network().entry(step.roots()).lower(), step


@pytest.fixture(scope="module", params=RUNTIMES)
def compiled(request: pytest.FixtureRequest) -> tuple[CompiledPlan, RecordedStep]:
    require(request.param)
    plan, step = recorded()
    return plan.compile(request.param), step


def bits(run: Run) -> dict[Symbol, bytes]:
    return {symbol: run.of(symbol).numpy().tobytes() for symbol in run.symbols()}


def test_bound_parameters_give_the_bits_of_forward(
    compiled: tuple[CompiledPlan, RecordedStep],
) -> None:
    whole, step = compiled
    parameters = whole.plan.network.parameters()
    # Not the initial state, so that a plan which forgot what was bound would differ.
    trained = step.advanced(parameters, whole.forward(parameters, FEEDS))
    bound = whole.bind(trained)
    assert bits(bound.forward(FEEDS)) == bits(whole.forward(trained, FEEDS))
    assert bits(whole.bind().forward(FEEDS)) == bits(whole.forward(feeds=FEEDS))
    assert bits(bound.forward(FEEDS)) != bits(whole.forward(feeds=FEEDS))


def test_two_steps_of_a_loop_have_the_bits_of_two_forwards(
    compiled: tuple[CompiledPlan, RecordedStep],
) -> None:
    whole, step = compiled
    state = whole.plan.network.parameters()
    loop = whole.loop(step.following)
    for _ in range(2):
        run, looped = whole.forward(state, FEEDS), loop.forward(FEEDS)
        state = step.advanced(state, run)
        assert looped.symbols() == (step.loss,)
        assert looped.of("loss").numpy().tobytes() == run.of("loss").numpy().tobytes()
    after = loop.parameters()
    for symbol in step.following:
        assert after.of(symbol).numpy().tobytes() == state.of(symbol).numpy().tobytes()
    assert step.state(after).count.item() == 2


def test_what_a_loop_answers_stays_as_it_was(compiled: tuple[CompiledPlan, RecordedStep]) -> None:
    whole, step = compiled
    loop = whole.loop(step.following)
    run, before = loop.forward(FEEDS), loop.parameters()
    kept = bits(run), [before.of(each).numpy().tobytes() for each in step.following]
    loop.forward(FEEDS)
    assert kept == (bits(run), [before.of(each).numpy().tobytes() for each in step.following])


@pytest.fixture(scope="module")
def interpreted() -> tuple[CompiledPlan, RecordedStep]:
    plan, step = recorded()
    return plan.compile("interpreter"), step


def test_a_bound_plan_takes_feeds_alone(interpreted: tuple[CompiledPlan, RecordedStep]) -> None:
    whole, _ = interpreted
    bound = whole.bind()
    assert len(bound.executable.signature.arguments) == 2
    with pytest.raises(FeedError, match=r"pixels.* needs a feed of f32\[6, 8\], got none"):
        bound.forward({"classes": FEEDS["classes"]})
    pixels, classes = "pixels: f32[6, 8]", "classes: i64[6]"
    assert repr(bound).startswith(
        f"BoundPlan(interpreter, ({pixels}, {classes}) -> (next/layers.0.weights: f32[8, 3], "
    )


def test_a_text_names_what_a_call_takes_and_few_of_many(
    interpreted: tuple[CompiledPlan, RecordedStep],
) -> None:
    whole, step = interpreted
    loop = whole.loop(step.following)
    signature, carried = whole.plan.signature(), len(step.following)
    feeds = "pixels: f32[6, 8], classes: i64[6]"
    assert repr(loop) == f"PlanLoop(interpreter, {carried} carried, ({feeds}) -> (loss: f32[]))"
    more = len(signature.arguments) - 4
    assert f", {more} more) -> (" in repr(whole)
    assert len(repr(whole)) < 400


def test_what_is_no_parameters_is_told_where_it_was_given(
    interpreted: tuple[CompiledPlan, RecordedStep],
) -> None:
    whole, step = interpreted
    with pytest.raises(FeedError, match=r"^a plan binds Parameters, got dict: network\.p"):
        whole.bind({"nope": 1.0})  # type: ignore[arg-type]
    with pytest.raises(FeedError, match=r"^a loop starts from Parameters, got dict: "):
        whole.loop(step.following, {"nope": 1.0})  # type: ignore[arg-type]


def test_a_feed_that_does_not_fit_leaves_a_loop_as_it_was(
    interpreted: tuple[CompiledPlan, RecordedStep],
) -> None:
    whole, step = interpreted
    loop = whole.loop(step.following)
    with pytest.raises(FeedError):
        loop.forward({**FEEDS, "pixels": np.ones((2, 8), np.float32)})
    assert step.state(loop.parameters()).count.item() == 0
    loop.forward(FEEDS)
    assert step.state(loop.parameters()).count.item() == 1


def test_a_loop_whose_call_failed_says_so(
    interpreted: tuple[CompiledPlan, RecordedStep], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, step = interpreted

    def failing(arguments: list[Any]) -> tuple[Any, ...]:
        raise ExecutionError("no memory today")

    loop = whole.loop(step.following)
    with monkeypatch.context() as patch:
        patch.setattr(whole.executable, "execute", failing)
        with pytest.raises(ExecutionError, match=r"^no memory today$"):
            loop.forward(FEEDS)
    for use in (lambda: loop.forward(FEEDS), loop.parameters):
        with pytest.raises(ExecutionError, match="the loop has no state since a call failed"):
            use()


def test_names_tell_what_follows(interpreted: tuple[CompiledPlan, RecordedStep]) -> None:
    whole, step = interpreted
    loop = whole.loop({"layers.0.bias": "next/layers.0.bias"})
    run = loop.forward(FEEDS)
    assert len(run.symbols()) == len(step.following)
    expected = whole.forward(feeds=FEEDS).of("next/layers.0.bias").numpy()
    assert loop.parameters().of("layers.0.bias").numpy().tobytes() == expected.tobytes()


def test_what_cannot_follow_is_refused(interpreted: tuple[CompiledPlan, RecordedStep]) -> None:
    whole, step = interpreted
    with pytest.raises(ArgumentError, match=r"^a loop carries parameters and inputs, got .*loss"):
        whole.loop({"loss": "loss"})
    with pytest.raises(FeedError, match=r"pixels' needs a feed"):
        whole.loop({"pixels": "loss"})
    (first, *_) = step.parameters
    with pytest.raises(ArgumentError, match=r"^a loop needs .*, the next .*, among the roots$"):
        whole.loop({first: first})
    second = step.parameters[1]
    with pytest.raises(ArgumentError, match=r"^a loop needs a next value of its own for each"):
        whole.loop({first: step.following[first], second: step.following[first]})
    with pytest.raises(ArgumentError, match=r"a loop needs a next value of the type of argument 0"):
        whole.loop({first: step.loss})
    _, other = recorded()
    with pytest.raises(SymbolError):
        whole.loop(other.following)
    message = r"^a loop needs a mapping of arguments to their next values, got None$"
    with pytest.raises(ArgumentError, match=message):
        whole.loop(None)  # type: ignore[arg-type]


def test_a_parameter_that_its_step_does_not_read_follows_too() -> None:
    tape = Tape()
    seen = tape.parameter(np.zeros(2, np.float32), name="seen")
    weight = tape.parameter(np.ones(2, np.float32), name="weight")
    batch = tape.input(shape=[2], name="batch")
    after, total = (weight + batch).named("after"), (weight * batch).sum().named("total")
    network = tape.into_network()
    plan = network.entry(["after", "batch", "total"]).lower()
    following: dict[Symbol | str, Symbol | str] = {seen.symbol: "batch", "weight": after.symbol}
    loop = plan.compile("interpreter").loop(following)
    assert loop.parameters().of("seen").numpy().tolist() == [0.0, 0.0]
    for number in (2.0, 3.0):
        run = loop.forward({"batch": np.full(2, number, np.float32)})
    assert run.of(total.symbol).item() == 18.0
    assert loop.parameters().of("seen").numpy().tolist() == [3.0, 3.0]
    assert loop.parameters().of("weight").numpy().tolist() == [6.0, 6.0]


@pytest.mark.parametrize("name", ["interpreter", "xla"])
def test_inputs_are_carried_bound_and_begun_again(name: str) -> None:
    require(name)
    tape = Tape()
    scale = tape.parameter(np.full(2, 2.0, np.float32), name="scale")
    total, shift, each = (tape.input(shape=[2], name=own) for own in ("total", "shift", "each"))
    (total + scale * each + shift).named("next")
    (total * shift).named("told")
    plan = tape.into_network().entry(["told", "next"]).lower()
    one = np.ones(2, np.float32)
    loop = plan.compile(name).loop({"total": "next"}, feeds={"total": 0.0 * one, "shift": one})
    assert [loop.forward({"each": one}).of("told").numpy()[0] for _ in range(3)] == [0.0, 3.0, 6.0]
    loop.restart(feeds={"total": 5.0 * one})
    assert [loop.forward({"each": one}).of("told").numpy()[0] for _ in range(2)] == [5.0, 8.0]
    with pytest.raises(FeedError, match="'total' needs a feed"):
        loop.restart()
