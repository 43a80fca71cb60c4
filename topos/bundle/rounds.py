"""Rounds of several trials in turn, so that a slow minute of the machine is shared by all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from topos.bundle.trial import Trial

__all__ = ["Step", "rounds"]

ROUNDS: Final = 10
"""How many turns each trial gets, unless its time is over before."""
WARM_UP: Final = 0.1
"""The share of the measured time that goes by unmeasured, before the first round."""
LONGEST_WARM_UP: Final = 0.5


class Step(NamedTuple):
    """What comes next, before it is done: `done` steps of `total` are behind."""

    done: int
    total: int
    what: str


def rounds(trials: Sequence[Trial], seconds: float, threads: int) -> Iterator[Step]:
    """Prepares all trials, then measures each for `seconds` in `ROUNDS` interleaved rounds.

    Yields every step before it is taken: whoever stops asking, or is interrupted, finds what was
    measured so far in the trials. Every other round goes backwards, so that none always follows
    the same one.
    """
    total = len(trials) * (1 + ROUNDS)
    done = 0
    for trial in trials:
        yield Step(done, total, f"compiling {trial}")
        trial.prepare()
        trial.warm_up(min(seconds * WARM_UP, LONGEST_WARM_UP), threads)
        done += 1
    for number in range(ROUNDS):
        for trial in trials if number % 2 == 0 else reversed(trials):
            yield Step(done, total, f"round {number + 1} of {ROUNDS}: {trial}")
            # A call that takes longer than a round is not waited for ten times.
            if trial.elapsed < seconds:
                trial.round(seconds / ROUNDS, threads)
            done += 1
    yield Step(done, total, "done")
