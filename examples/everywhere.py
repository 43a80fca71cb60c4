"""Runs plans on every runtime and holds each against the oracle, for the examples' tables."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from topos import Parameters, Plan, Run, Symbol, Tensor, ToposError, runtimes
from topos.runtimes.distance import same_bits

__all__ = ["Feeds", "Forward", "Trial", "others", "rows", "trial"]

# How long, and how often at most, a module is called to take its time.
SECONDS, MOST_CALLS = 0.3, 100

Feeds = Mapping[Symbol | str, Any]
Forward = Callable[[Parameters, Feeds], Run]
Use = Callable[[Forward], str]
"""What a runtime is used for beyond one call: its answer is one more cell of the row."""


class Trial(NamedTuple):
    """A plan, what it is run with, and what the oracle makes of that."""

    plan: Plan
    parameters: Parameters
    feeds: Feeds
    oracle: Run
    use: Use | None = None


def trial(plan: Plan, parameters: Parameters, feeds: Feeds, use: Use | None = None) -> Trial:
    """Returns the trial of `plan` by the results of the oracle."""
    oracle = plan.network.entry(plan.results).interpret(parameters, feeds)
    return Trial(plan, parameters, feeds, oracle, use)


def rows(
    trials: Sequence[Trial], left_out: Mapping[str, str] = MappingProxyType({})
) -> list[list[str]]:
    """Returns one row a runtime: its name, its state, and each trial's distance, time and use.

    `left_out` says of runtimes that are not run why that is.
    """
    return [_row(name, trials, left_out.get(name)) for name in runtimes.names()]


def others() -> str:
    """Returns one line on what the runtimes that this installation lacks would add."""
    missing = {name: each.detail for name, each in runtimes.status().items() if not each.ready}
    if not missing:
        return "every runtime is installed"
    ways = dict.fromkeys(detail.rpartition(": ")[2] for detail in missing.values())
    return f"{', '.join(missing)} would run the same modules: {', '.join(ways)}"


def _row(name: str, trials: Sequence[Trial], left_out: str | None) -> list[str]:
    blank = ["-"] * sum(2 + (each.use is not None) for each in trials)
    status = runtimes.load(name).status()
    if not status.ready:
        return [name, status.detail, *blank]
    if left_out is not None:
        return [name, f"left out: {left_out}", *blank]
    try:
        cells = [cell for each in trials for cell in _cells(name, each)]
    except ToposError as error:
        return [name, f"failed: {error}", *blank]
    return [name, f"ready: {status.detail}", *cells]


def _cells(name: str, trial: Trial) -> list[str]:
    # The distance is that of the separate roundings; a runtime left to itself merges some.
    compiled = trial.plan.compile(name, numerics="exact")
    start = time.perf_counter()
    run = compiled.forward(trial.parameters, trial.feeds)
    first = time.perf_counter() - start
    cells = [_distance(trial, run), _milliseconds(compiled.forward, trial, first)]
    return cells if trial.use is None else [*cells, trial.use(compiled.forward)]


def _distance(trial: Trial, run: Run) -> str:
    """Returns how far results are from the oracle's, beside the largest element of each."""
    pairs = [(trial.oracle.of(symbol), run.of(symbol)) for symbol in trial.plan.results]
    if all(same_bits(own.numpy(), its.numpy()) for own, its in pairs):
        return "bits equal"
    return f"{max(_furthest(own, its) for own, its in pairs):.0e}"


def _furthest(own: Tensor, its: Tensor) -> float:
    ours, theirs = (each.numpy().astype(np.float64) for each in (own, its))
    largest: Final = np.abs(ours).max()
    return float(np.abs(ours - theirs).max() / largest) if largest else float(np.abs(theirs).max())


def _milliseconds(forward: Forward, trial: Trial, first: float) -> str:
    """Returns the median duration of a call, or of the first where that took long enough."""
    durations = [first] if first > SECONDS else []
    while sum(durations) < SECONDS and len(durations) < MOST_CALLS:
        start = time.perf_counter()
        forward(trial.parameters, trial.feeds)
        durations.append(time.perf_counter() - start)
    return f"{statistics.median(durations) * 1e3:,.2f}"
