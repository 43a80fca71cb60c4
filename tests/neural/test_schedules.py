"""Schedules: the rates of optax, exact stairs, the same numbers computed and recorded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from tests.runtimes.require import require
from topos import Tape, Tensor, f32, f64
from topos.errors import ArgumentError
from topos.neural import schedule
from topos.neural.schedule import Schedule


class Twin(NamedTuple):
    """A schedule, the same of optax, and the units granted relative to its largest rate."""

    name: str
    ours: Schedule
    theirs: Callable[[Any], Any]
    units: float


TWINS = [
    Twin("constant", schedule.constant(0.1), lambda x: x.constant_schedule(0.1), 0.0),
    Twin(
        "cosine",
        schedule.cosine(0.1, 60, floor=0.01),
        lambda x: x.cosine_decay_schedule(0.1, 60, alpha=0.1),
        2.0,
    ),
    Twin(
        "staircase",
        schedule.staircase(0.1, 7, factor=0.5),
        lambda x: x.exponential_decay(0.1, 7, 0.5, staircase=True),
        1.0,
    ),
    Twin(
        "warm_up",
        schedule.warm_up(10, schedule.cosine(0.1, 50)),
        lambda x: x.join_schedules(
            [x.linear_schedule(0.0, 0.1, 10), x.cosine_decay_schedule(0.1, 50)], [10]
        ),
        2.0,
    ),
]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin.name))
def test_a_schedule_is_that_of_optax(twin: Twin) -> None:
    other = twin.theirs(pytest.importorskip("optax"))
    counts = range(100)
    ours = [float(twin.ours(Tensor(float(count)))) for count in counts]
    theirs = [float(np.float32(other(np.int32(count)))) for count in counts]
    assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) <= twin.units * float(
        np.spacing(np.float32(max(theirs)))
    )


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin.name))
def test_a_schedule_records_what_it_computes(twin: Twin) -> None:
    tape = Tape()
    twin.ours(tape.input(0.0, name="count")).named("rate")
    network = tape.into_network()
    again = pickle.loads(pickle.dumps(twin.ours))
    for count in (0.0, 3.0, 7.0, 10.0, 59.0, 60.0, 200.0):
        recorded = network.forward(None, {"count": count}).of("rate")
        assert same(recorded, twin.ours(Tensor(count)))
        assert same(recorded, again(Tensor(count)))


@pytest.mark.parametrize("every", [1, 3, 7, 49, 1000])
def test_stairs_fall_at_whole_multiples(every: int) -> None:
    stairs = schedule.staircase(1.0, every, factor=0.5)
    for multiple in (1, 2, 5, 10):
        before, at = (stairs(Tensor(float(every * multiple + shift))) for shift in (-1, 0))
        assert holds(at, 0.5**multiple, f32)
        assert holds(before, 0.5 ** (multiple - 1), f32)


def test_stairs_fall_there_where_a_division_is_a_multiplication() -> None:
    require("xla")
    tape = Tape()
    schedule.staircase(1.0, 41, factor=0.5)(tape.input(0.0, name="count")).named("rate")
    compiled = tape.into_network().entry(["rate"]).lower().compile("xla")
    # XLA multiplies by the reciprocal: 41 times the f32 nearest to 1 / 41 is below one.
    for count, rate in ((40.0, 1.0), (41.0, 0.5), (81.0, 0.5), (82.0, 0.25)):
        assert holds(compiled.forward(None, {"count": count}).of("rate"), rate, f32)


def test_a_cosine_ends_on_its_floor_and_stays() -> None:
    falling = schedule.cosine(1.0, 10, floor=0.25)
    assert holds(falling(Tensor(0.0)), 1.0, f32)
    assert all(holds(falling(Tensor(count)), 0.25, f32) for count in (10.0, 11.0, 1e6))


def test_a_warm_up_rises_evenly_to_what_follows() -> None:
    rising = schedule.warm_up(4, schedule.staircase(2.0, 3, factor=0.5))
    rates = [float(rising(Tensor(float(count), f64))) for count in range(11)]
    assert rates == [0.0, 0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.5]


MISTAKES: list[tuple[str, Callable[[], Any]]] = [
    (
        "constant needs a finite rate of zero or more, got nan",
        lambda: schedule.constant(float("nan")),
    ),
    (
        "cosine needs a finite rate of zero or more, got -1.0",
        lambda: schedule.cosine(1.0, 5, floor=-1.0),
    ),
    (
        "staircase needs a positive finite factor, got 0.0",
        lambda: schedule.staircase(1.0, 5, factor=0.0),
    ),
    (
        "staircase needs 1 to 16777216 steps, got 2.5",
        lambda: schedule.staircase(1.0, 2.5, factor=0.5),  # type: ignore[arg-type]
    ),
    ("warm_up needs 1 to 16777216 steps, got 0", lambda: schedule.warm_up(0, 0.1)),
    (
        "warm_up needs a finite rate of zero or more, got 'slow'",
        lambda: schedule.warm_up(5, "slow"),  # type: ignore[arg-type]
    ),
]


@pytest.mark.parametrize(("message", "action"), MISTAKES, ids=[each[0][:48] for each in MISTAKES])
def test_a_schedule_that_is_none_is_told(message: str, action: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=exactly(message)):
        action()
