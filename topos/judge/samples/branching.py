"""Loops and branches over samples, of which each follows its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topos.runtimes.interpreter.program import Array, Program, single

# A sample may loop so many times as often as the first that stops, and this often in any case.
LONGER, SHORTEST = 10, 1000


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
    """A condition and a body over the same `count` values; each sample stops by itself."""

    condition: Program
    body: Program
    count: int

    def __call__(self, *values: Array) -> Any:
        state, captures = [*values[: self.count]], values[self.count :]
        turns, limit = 0, None
        while True:
            truth = self.condition.run(*state, *captures)[0]
            going = np.count_nonzero(truth)
            if not going or (limit is not None and turns > limit):
                return single(state)
            if limit is None and going < len(truth):
                limit = max(SHORTEST, LONGER * turns)
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
