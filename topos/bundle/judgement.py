"""Judgement: what a runtime makes of a program's sample, held against the envelope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy.typing as npt

from topos.bundle.bundle import Call, Program
from topos.bundle.envelope import deviation
from topos.errors import ToposError, UnsupportedError
from topos.runtimes.grade import same_bits

__all__ = ["VERIFIER", "Answers", "State", "Verdict", "blocked", "brief", "judged"]

Array = npt.NDArray[Any]
Answers = Callable[[Sequence[Call]], Sequence[Sequence[Array]]]
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
    reason = "refused by the verifier"
    return Verdict(judge, program.name, "", State.BLOCKED, reason=reason)


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
