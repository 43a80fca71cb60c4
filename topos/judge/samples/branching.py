"""Loops and branches over samples, of which each follows its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topos.runtimes.interpreter.program import Array, Program, single

# A sample may loop so many times as often as the first that stops, and this often in any case.
LONGER, SHORTEST = 10, 1000


class Turns:
    """How many turns the loops of a run may take while no sample stops, one and all together.

    The oracle stopped after `steps`, where that is known.
    """

    __slots__ = ("left", "most")

    def __init__(self, steps: int | None = None) -> None:
        self.start(steps)

    def start(self, steps: int | None) -> None:
        """Begins a run."""
        self.most = None if steps is None else max(SHORTEST, LONGER * steps)
        self.left = None if self.most is None else LONGER * self.most

    def bound(self) -> int | None:
        """Returns how many turns the next loop may take, or `None` for any number."""
        return None if self.most is None or self.left is None else min(self.most, self.left)

    def taken(self, turns: int) -> None:
        """Counts the turns of a loop that ended."""
        if self.left is not None:
            self.left = max(0, self.left - turns)


@dataclass(frozen=True, slots=True)
class Branches:
    """Programs of which each sample's index chooses one."""

    regions: tuple[Program, ...]

    def __call__(self, index: Array, *captures: Array) -> Any:
        last = len(self.regions) - 1
        places = index.astype(np.int64)
        places = np.where((places < 0) | (places > last), last, places)
        chosen = np.unique(places)
        results = self.regions[chosen[0]].run(*captures)
        for place in chosen[1:]:
            others = self.regions[place].run(*captures)
            results = [
                _selected(places == place, other, result)
                for other, result in zip(others, results, strict=True)
            ]
        return single(results)


@dataclass(frozen=True, slots=True)
class Loop:
    """A condition and a body over the same `count` values; each sample stops by itself.

    One that does not stop keeps the values that it had after the turns it may take.
    """

    condition: Program
    body: Program
    count: int
    turns: Turns

    def __call__(self, *values: Array) -> Any:
        state, captures = [*values[: self.count]], values[self.count :]
        turns, limit, stopped = 0, self.turns.bound(), False
        while True:
            truth = self.condition.run(*state, *captures)[0]
            going = np.count_nonzero(truth)
            if not going or (limit is not None and turns >= limit):
                self.turns.taken(turns)
                return single(state)
            if not stopped and going < len(truth):
                most, stopped = max(SHORTEST, LONGER * turns), True
                limit = most if limit is None else min(limit, most)
            turned = self.body.run(*state, *captures)
            turns += 1
            state = (
                turned
                if going == len(truth)
                else [_selected(truth, *pair) for pair in zip(turned, state, strict=True)]
            )


def _selected(here: Array, one: Array, other: Array) -> Array:
    rank = max(one.ndim, other.ndim)
    return np.where(here.reshape(here.shape + (1,) * (rank - 1)), one, other)
