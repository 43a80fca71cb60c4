"""Reports: what a check found, a verdict for each result, as a table and as a document."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy.typing as npt

from topos import runtimes
from topos.bundle.envelope import deviation
from topos.errors import ToposError, UnavailableError, UnsupportedError
from topos.runtimes import Runtime
from topos.runtimes.distance import same_bits

if TYPE_CHECKING:
    from topos.bundle.bundle import Bundle, Call, Program

# The reference interpreter does 1.5 million operations a second; what takes it longer than ten
# seconds runs only where it is asked for by name.
PATIENCE: Final = 15_000_000
HEADINGS = ("judge", "program", "result", "deviation", "envelope", "verdict")


class Check(NamedTuple):
    """What a bundle was found to be; its text is a table with a summary below."""

    bundle: Bundle
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and somebody ran the sample."""
        return bool(self._ran()) and all(each.state.passes for each in self.verdicts)

    def refused(self, program: Program) -> bool:
        """Returns whether our verifier refused a program, which then goes to no other judge."""
        own = (each for each in self.verdicts if each.judge == VERIFIER)
        return any(each.program == program.name and not each.state.passes for each in own)

    def summary(self) -> str:
        """Returns one line on how it ended."""
        wrong = sum(not each.state.passes for each in self.verdicts)
        if wrong:
            return f"{wrong} of {len(self.verdicts)} do not hold{self._blocked()}"
        ran = ", ".join(self._ran())
        return f"holds on {ran}" if ran else "nobody ran the sample"

    def document(self) -> dict[str, Any]:
        """Returns the same for JSON, where an infinite deviation is null."""
        return {
            "bundle": str(self.bundle.path),
            "name": self.bundle.name,
            "version": self.bundle.version,
            "passed": self.passed,
            "verdicts": [_entry(each) for each in self.verdicts],
        }

    def __str__(self) -> str:
        rows = [HEADINGS, *map(_cells, self.verdicts)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        own = self.bundle
        head = f"{own.name} {own.version}: every file as its digest says"
        return "\n".join([head, *lines, self.summary()])

    def _blocked(self) -> str:
        """Returns how many the faults kept from running, where there are any."""
        count = sum(each.state is State.BLOCKED for each in self.verdicts)
        verb = "was" if count == 1 else "were"
        return f", and {count} {verb} not run for that" if count else ""

    def _ran(self) -> list[str]:
        judges = (each.judge for each in self.verdicts if each.deviation is not None)
        return list(dict.fromkeys(judges))


def _cells(verdict: Verdict) -> tuple[str, ...]:
    numbers = (verdict.deviation, verdict.envelope)
    told = f"{verdict.state.value}: {verdict.reason}" if verdict.reason else verdict.state.value
    return (
        *(verdict.judge, verdict.program, verdict.result),
        *("" if number is None else f"{number:.1e}" for number in numbers),
        told,
    )


def _entry(verdict: Verdict) -> dict[str, Any]:
    entry = verdict._asdict() | {"state": verdict.state.name.lower()}
    if verdict.deviation is not None and not math.isfinite(verdict.deviation):
        entry["deviation"] = None
    return entry


Array = npt.NDArray[Any]
Answers = Callable[["Sequence[Call]"], Sequence[Sequence[Array]]]
"""What a judge returns for each call of a sample, in the order of the results."""


VERIFIER: Final = "topos"
"""The judge that every program has to pass before any other gets it."""


class State(Enum):
    """What became of one thing that was checked."""

    BITS = "bits equal"
    INSIDE = "inside"
    HOLDS = "holds"
    UNLISTED = "unlisted"
    SKIPPED = "skipped"
    BLOCKED = "not run"
    LACKING = "lacking"
    OUTSIDE = "OUTSIDE"
    FAILED = "FAILED"

    @property
    def passes(self) -> bool:
        """Whether nothing is wrong: what was not checked, for a reason, is no fault."""
        return self not in (State.OUTSIDE, State.FAILED)


class Verdict(NamedTuple):
    """One result of one program on one runtime, or a fact about the module itself.

    `deviation` and `envelope` are shares of the largest magnitude of the oracle's result in the
    same call, at the call where they are furthest.
    """

    judge: str
    program: str
    result: str
    state: State
    deviation: float | None = None
    envelope: float | None = None
    reason: str = ""


def blocked(judge: str, program: Program) -> Verdict:
    """Returns the verdict of a judge that is not given a program."""
    return told(judge, program, State.BLOCKED, "refused by the verifier")


def told(judge: str, program: Program, state: State, reason: str = "") -> Verdict:
    """Returns a verdict on a program as a whole."""
    return Verdict(judge, program.name, "", state, reason=reason)


def ready(names: Sequence[str] | None) -> list[Runtime]:
    """Returns the runtimes that are ready, or those of `names`.

    Raises `UnavailableError` where one of the latter is not.
    """
    chosen = runtimes.names() if names is None else dict.fromkeys(names)
    found = {runtime: runtime.status() for runtime in map(runtimes.load, chosen)}
    for status in found.values():
        if names is not None and not status.ready:
            raise UnavailableError(status.detail)
    return [runtime for runtime, status in found.items() if status.ready]


def is_slow(runtime: Runtime, text: str) -> bool:
    """Returns whether the reference interpreter would take longer than anyone waits."""
    if runtime.name != "reference":
        return False
    try:
        return runtimes.cost_analysis(text).total.flops > PATIENCE
    except UnsupportedError:
        return False


def judged(judge: str, program: Program, answers: Answers) -> list[Verdict]:
    """Returns a verdict on each result over all calls of the sample, or one on what failed."""
    try:
        sample = program.sample()
        answered = answers(sample)
    except ToposError as error:
        state = State.LACKING if isinstance(error, UnsupportedError) else State.FAILED
        return [told(judge, program, state, brief(error))]
    verdicts = []
    for place, result in enumerate(program.results):
        pairs = [
            (call.results[result.name], own[place])
            for call, own in zip(sample, answered, strict=True)
        ]
        furthest = max(deviation(ours, theirs) for ours, theirs in pairs)
        state = _state(pairs, furthest, result.envelope)
        verdicts.append(Verdict(judge, program.name, result.name, state, furthest, result.envelope))
    return verdicts


def brief(error: Exception) -> str:
    """Returns the first line of what an error says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _state(pairs: Sequence[tuple[Array, Array]], furthest: float, envelope: float) -> State:
    if all(same_bits(ours, theirs) for ours, theirs in pairs):
        return State.BITS
    return State.INSIDE if furthest <= envelope else State.OUTSIDE
