"""What training and inference differ in: batch statistics, dropout masks; and what plans elect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import same
from tests.neural.near import units
from topos import Run, Tape, Tensor, Value, bf16
from topos.neural import (
    BatchNorm,
    Conv2d,
    Dropout,
    MaxPool,
    MultiHeadAttention,
    Normalization,
    RunningStatistics,
    init,
)

BATCHES = [init.normal(seed, 2.0)((8, 3, 4)) for seed in range(3)]


def statistics(run: Run, names: tuple[str, str] = ("mean", "variance")) -> tuple[Tensor, Tensor]:
    return run.of(names[0]), run.of(names[1])


def test_running_statistics_are_those_of_flax() -> None:
    linen, jax = pytest.importorskip("flax.linen"), pytest.importorskip("jax")
    tape = Tape()
    norm = BatchNorm(tape, 3, scale=init.normal(7), shift=init.normal(8))
    trained = norm.express(tape, tape.input(BATCHES[0], name="batch"))
    assert isinstance(trained, Normalization)
    for value, name in zip(trained, ("output", "mean", "variance"), strict=True):
        value.named(name)
    mean, variance = (tape.input(shape=[3], name=f"running {name}") for name in ("m", "v"))
    norm.inference(tape, tape.value("batch"), mean, variance).named("inferred")
    network = tape.into_network()

    module = linen.BatchNorm(momentum=0.8, epsilon=1e-5, axis=1, use_fast_variance=False)
    state = network.parameters()
    held = {"scale": state.of(norm.scale).numpy(), "bias": state.of(norm.shift).numpy()}
    variables: Any = module.init(jax.random.key(0), BATCHES[0].numpy(), use_running_average=True)
    variables = {**variables, "params": held}
    running = RunningStatistics.initial(3)
    for batch in BATCHES:
        run = network.entry(["mean", "variance"]).interpret(feeds={"batch": batch})
        running = running.updated(*statistics(run), decay=0.8)
        _, changed = module.apply(
            variables, batch.numpy(), use_running_average=False, mutable=["batch_stats"]
        )
        variables = {**variables, **changed}
    assert units(running.mean.numpy(), np.asarray(variables["batch_stats"]["mean"])) <= 4
    assert units(running.variance.numpy(), np.asarray(variables["batch_stats"]["var"])) <= 4

    feeds = {"running m": running.mean, "running v": running.variance}
    inferred = network.entry(["inferred"]).interpret(feeds=feeds).of("inferred")
    theirs = module.apply(variables, BATCHES[0].numpy(), use_running_average=True)
    assert units(inferred.numpy(), np.asarray(theirs)) <= 8


def test_running_statistics_start_as_no_normalization() -> None:
    initial = RunningStatistics.initial(2, bf16)
    assert initial.mean.numpy().tolist() == [0.0, 0.0]
    assert initial.variance.numpy().tolist() == [1.0, 1.0]
    after = initial.updated(initial.mean + 1.0, initial.variance + 2.0, decay=0.5)
    assert after.mean.element is bf16
    assert (after.mean.numpy().tolist(), after.variance.numpy().tolist()) == ([0.5] * 2, [2.0] * 2)


def test_dropout_is_the_identity_unless_it_is_fed() -> None:
    tape = Tape()
    dropout = Dropout(tape, [4, 5], 0.5, name="mask")
    values = init.normal(1)((4, 5))
    dropped = dropout.express(tape, tape.input(values)).symbol
    network = tape.into_network()
    assert same(network.forward().of(dropped), values)
    mask = dropout.draw(3)
    assert same(network.forward(feeds={dropout.mask: mask}).of(dropped), values * mask)
    assert same(mask, init.dropout(3, 0.5)((4, 5)))
    assert not same(mask, dropout.draw(4))


def elected(record: Any) -> list[str]:
    tape = Tape()
    root: Value = record(tape)
    symbol = root.symbol
    patterns = tape.into_network().entry([symbol]).lower().patterns()
    return [match.kind.value for match in patterns]


def test_plans_elect_their_patterns_in_what_modules_record() -> None:
    images = init.normal(1)((2, 3, 6, 6))
    rows = init.normal(2)((2, 5, 8))

    def norm(tape: Tape) -> Value:
        return BatchNorm(tape, 3).express(tape, tape.input(images)).output

    def inference(tape: Tape) -> Value:
        mean, variance = tape.input(shape=[3]), tape.input(shape=[3])
        return BatchNorm(tape, 3).inference(tape, tape.input(images), mean, variance)

    def convolution(tape: Tape) -> Value:
        layer = Conv2d(tape, 3, 4, 3, weights=init.xavier(1), padding=1)
        return layer.express(tape, tape.input(images))

    def attention(tape: Tape) -> Value:
        layer = MultiHeadAttention(tape, 8, 2, weights=init.xavier(1), causal=True)
        return layer.express(tape, tape.input(rows))

    assert elected(norm) == ["batch_norm_training"]
    assert elected(inference) == ["batch_norm_inference"]
    assert elected(convolution) == ["window_product"]
    assert elected(attention) == ["attention"]
    assert elected(lambda tape: MaxPool(2).express(tape, tape.input(images))) == ["reduce_window"]
