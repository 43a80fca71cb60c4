"""What every runtime makes of one plan, as a table: how near to the oracle, and how long a call."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.table import Table
from rich.text import Text

from topos import Parameters, Plan, Run, Symbol, Tensor, ToposError, runtimes
from topos.runtimes.grade import ResultGrade, graded

__all__ = ["Feeds", "Outcome", "others", "outcomes", "table", "write"]

# How long, and how often at most, a runtime is called to take its time.
SECONDS: Final = 0.5
MOST_CALLS: Final = 200

Feeds = Mapping[Symbol | str, Tensor | npt.NDArray[Any]]
Parts = Mapping[str, slice]


class Outcome(NamedTuple):
    """What a runtime made of the module; without grades, `detail` says why it made nothing."""

    runtime: str
    detail: str
    grades: tuple[ResultGrade, ...] = ()
    furthest: float = 0.0
    microseconds: float = 0.0

    def cells(self, parts: Parts) -> tuple[str, ...]:
        """Returns the row of the table: one distance for each part of the results."""
        if not self.grades:
            return self.runtime, self.detail, *("-" for _ in parts), "-"
        distances = [distance(self.grades[part]) for part in parts.values()]
        return self.runtime, f"ready: {self.detail}", *distances, f"{self.microseconds:,.0f}"


def outcomes(plan: Plan, parameters: Parameters, feeds: Feeds) -> list[Outcome]:
    """Returns what every runtime makes of the module of `plan`, beside the oracle's run."""
    oracle = plan.network.entry(plan.results).interpret(parameters, feeds)
    return [outcome(name, plan, parameters, feeds, oracle) for name in runtimes.names()]


def outcome(
    name: str, plan: Plan, parameters: Parameters, feeds: Feeds, oracle: Run
) -> Outcome:
    """Returns what the runtime called `name` makes of the module of `plan`."""
    status = runtimes.load(name).status()
    if not status.ready:
        return Outcome(name, status.detail)
    try:
        # The grade is that of the separate roundings; a runtime left to itself merges some.
        compiled = plan.compile(name, numerics="exact")
        run = compiled.forward(parameters, feeds)
        duration = microseconds(compiled.executable, plan.arguments(parameters, feeds))
    except ToposError as error:
        return Outcome(name, f"failed: {error}")
    pairs = [(oracle.of(symbol).numpy(), run.of(symbol).numpy()) for symbol in plan.results]
    grades = graded(plan, name, run, oracle).results
    return Outcome(name, status.detail, grades, max(map(relative, pairs)), duration)


def relative(pair: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> float:
    """Returns how far two arrays are apart, beside the largest element of the first."""
    own, its = (each.astype(np.float64) for each in pair)
    largest = float(np.abs(own).max())
    return float(np.abs(own - its).max()) / largest if largest else float(np.abs(its).max())


def microseconds(executable: runtimes.Executable, arguments: list[npt.NDArray[Any]]) -> float:
    """Returns the median duration of a call."""
    durations: list[float] = []
    while sum(durations) < SECONDS and len(durations) < MOST_CALLS:
        start = time.perf_counter()
        executable(*arguments)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations) * 1e6


def distance(grades: tuple[ResultGrade, ...]) -> str:
    """Returns how far results are from the oracle, as the table says it."""
    if all(grade.bits_equal for grade in grades):
        return "bits equal"
    return f"{max(grade.distance for grade in grades):,} ULP"


def table(rows: list[Outcome], parts: Parts, title: str, caption: str) -> Table:
    """Returns the outcomes as a table, one runtime a row.

    `parts` name columns and the results that each is about; `caption` has a place for how far the
    furthest element is, beside the largest of its result.
    """
    furthest = max(each.furthest for each in rows)
    below = caption.format(furthest) if furthest else None
    columns = Table(title=title, caption=below, caption_justify="left")
    columns.add_column("runtime")
    columns.add_column("ready, or why not")
    for heading in (*parts, "µs a call"):
        columns.add_column(heading, justify="right", no_wrap=True)
    for each in rows:
        # Plain text: a name in brackets, as an extra has, is no markup here.
        columns.add_row(*map(Text, each.cells(parts)))
    return columns


def others() -> str:
    """Returns one line on what the runtimes that this installation lacks would add."""
    missing = {name: each.detail for name, each in runtimes.status().items() if not each.ready}
    if not missing:
        return "every runtime is installed"
    ways = dict.fromkeys(detail.rpartition(": ")[2] for detail in missing.values())
    return f"{', '.join(missing)} would run the same module: {', '.join(ways)}"


def write(content: bytes, path: Path) -> None:
    """Writes the whole of `content` to `path` or leaves what was there; makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
