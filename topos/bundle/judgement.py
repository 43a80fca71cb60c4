"""Judgement: what a runtime makes of a program's sample, held against the envelope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy.typing as npt

from topos.bundle.bundle import Call, Program
from topos.bundle.envelope import deviation
from topos.errors import ToposError, UnsupportedError
from topos.runtimes.grade import same_bits

__all__ = ["Answers", "State", "Verdict", "brief", "judged"]

Array = npt.NDArray[Any]
Answers = Callable[[Sequence[Call]], Sequence[Sequence[Array]]]
"""What a judge answers to each call of a sample, in the order of the results."""


class State(Enum):
    """What became of one thing that was checked."""

    BITS = "bits equal"
    INSIDE = "inside"
    HOLDS = "holds"
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


def judged(judge: str, program: Program, answers: Answers) -> list[Verdict]:
    """Returns a verdict on each result over all calls of the sample, or one on what failed."""
    try:
        sample = program.sample()
        answered = answers(sample)
    except UnsupportedError as error:
        return [Verdict(judge, program.name, "", State.LACKING, reason=brief(error))]
    except ToposError as error:
        return [Verdict(judge, program.name, "", State.FAILED, reason=brief(error))]
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
