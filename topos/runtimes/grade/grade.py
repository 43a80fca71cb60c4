"""Grading: one plan's module on one runtime, held against the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from topos.engine import Numerics, Plan, Run
from topos.graph import Symbol
from topos.graph.field import Parameters
from topos.graph.network import Feeds
from topos.payload import TensorType
from topos.runtimes import load
from topos.runtimes._runtime import isolating, requested
from topos.runtimes.grade.distance import FAR, largest_distance, relative_difference, same_bits
from topos.runtimes.grade.envelope import FLUSHING


class ResultGrade(NamedTuple):
    """One result: whether its bits are the oracle's, else how many units in the last place off.

    `distance` treats a subnormal as zero on both sides where the runtime flushes them.
    `relative` is the largest difference beside the largest magnitude of the oracle's result; it
    tells a rounding error from a wrong number where terms cancel and small results remain.
    """

    symbol: Symbol
    name: str | None
    type: TensorType
    bits_equal: bool
    distance: int
    relative: float

    def __str__(self) -> str:
        title = self.name or str(self.symbol)
        if self.bits_equal:
            return f"{title}: bits equal"
        if self.distance >= FAR:
            return f"{title}: beyond measure"
        return f"{title}: {self.distance} ULP, {self.relative:.1g} of the largest"


class Grade(NamedTuple):
    """The verdict on one module and one runtime."""

    runtime: str
    results: tuple[ResultGrade, ...]

    @property
    def bits_equal(self) -> bool:
        """Whether every result has the oracle's bits."""
        return all(result.bits_equal for result in self.results)

    @property
    def distance(self) -> int:
        """The largest distance of any result, in units in the last place."""
        return max((result.distance for result in self.results), default=0)

    def __str__(self) -> str:
        return f"{self.runtime}: {', '.join(map(str, self.results))}"


def grade(
    plan: Plan,
    runtime: str,
    parameters: Parameters | None = None,
    feeds: Feeds | None = None,
    *,
    numerics: Numerics | str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Grade:
    """Returns how the results of `plan`, emitted and run by `runtime`, compare with the oracle.

    `options` are those of compiling. A foreign runtime runs in its worker, unless they say
    `isolated: False`. Raises what compiling and running raise.
    """
    chosen = isolating(load(runtime)) | requested(options)
    compiled = plan.compile(runtime, numerics=numerics, options=chosen)
    run = compiled.forward(parameters, feeds)
    entry = plan.network.entry(plan.results)
    return graded(plan, runtime, run, entry.interpret(parameters, feeds))


def graded(plan: Plan, runtime: str, run: Run, oracle: Run) -> Grade:
    """Returns how a run of `plan` compares with the oracle's run of the same arguments."""
    results = []
    for port in plan.signature().results:
        ours, theirs = oracle.of(port.symbol).numpy(), run.of(port.symbol).numpy()
        equal = same_bits(ours, theirs)
        distance = 0 if equal else largest_distance(ours, theirs, flushed=runtime in FLUSHING)
        relative = 0.0 if equal else relative_difference(ours, theirs)
        results.append(ResultGrade(*port, equal, distance, relative))
    return Grade(runtime, tuple(results))
