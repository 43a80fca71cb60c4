"""How long requests took over the last minutes, counted in a fixed grid of time and duration.

The grid has the same size after any number of requests: a busy server forgets nothing of the last
minutes and an idle one keeps nothing for them.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.serving.counters import Observer

SLOTS: Final = 60
SLOT_SECONDS: Final = 5.0
# Neighbouring edges differ by 12 percent, and so does a percentile from the latency it stands for.
BINS_PER_DECADE: Final = 20
SHORTEST, DECADES = 1e-5, 7
BINS: Final = BINS_PER_DECADE * DECADES
EDGES: Final = SHORTEST * 10.0 ** (np.arange(BINS + 1) / BINS_PER_DECADE)
"""The bounds of the bins in seconds; what is shorter or longer counts in the first or the last."""
PERCENTS: Final = (50, 95, 99)

Counts = npt.NDArray[np.int64]


class Timeline(Observer):
    """An observer of a session: the latencies of answered requests and the others' number.

    Each model has `SLOTS` slots of `SLOT_SECONDS`; a slot counts its requests by bin.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._models: dict[str, _Ring] = {}

    def request_finished(self, model: str, outcome: str, rows: int, seconds: float) -> None:
        """Counts a request, by its latency where its outcome is `ok`.

        One that its client cancelled was neither answered nor failed.
        """
        if outcome == "cancelled":
            return
        ring = self._models.get(model)
        if ring is None:
            ring = self._models[model] = _Ring()
        ring.count(self._slot(), seconds if outcome == "ok" else None)

    def record(self) -> dict[str, Any]:
        """Returns the last minutes for JSON: of all models together, and of each.

        A series has a list a slot, oldest first: requests answered, requests that failed, and the
        percentiles 50, 95 and 99 in seconds or None. Its histogram counts all slots by bin.
        """
        slot = self._slot()
        # A model may be observed for the first time while this goes through them.
        found = {name: ring.counts(slot) for name, ring in list(self._models.items())}
        return {
            "slot_seconds": SLOT_SECONDS,
            "edges": [float(f"{edge:.4g}") for edge in EDGES],
            "all": _series(found.values()),
            "models": {name: _series([each]) for name, each in found.items()},
        }

    def _slot(self) -> int:
        return int(self._clock() // SLOT_SECONDS)


class _Ring:
    """The slots of one model; each line counts failures first, then the bins."""

    def __init__(self) -> None:
        self._lines = [array("q", bytes(8 * (BINS + 1))) for _ in range(SLOTS)]
        self._slots = [-1] * SLOTS

    def count(self, slot: int, seconds: float | None) -> None:
        place = slot % SLOTS
        if self._slots[place] != slot:
            # In this order, a thread that reads meanwhile finds no old counts under a new time.
            self._lines[place] = array("q", bytes(8 * (BINS + 1)))
            self._slots[place] = slot
        self._lines[place][0 if seconds is None else 1 + _bin(seconds)] += 1

    def counts(self, slot: int) -> Counts:
        """Returns the counts as `[slots, 1 + bins]`, oldest first; `slot` is the last line."""
        found = np.zeros((SLOTS, BINS + 1), np.int64)
        for number, line in zip(self._slots, self._lines, strict=True):
            age = slot - number
            if number >= 0 and 0 <= age < SLOTS:
                found[SLOTS - 1 - age] = line
        return found


def _bin(seconds: float) -> int:
    if seconds <= SHORTEST:
        return 0
    return min(int(math.log10(seconds / SHORTEST) * BINS_PER_DECADE), BINS - 1)


def _series(counts: Iterable[Counts]) -> dict[str, Any]:
    total: Counts = sum(counts, np.zeros((SLOTS, BINS + 1), np.int64))
    answered = total[:, 1:]
    histogram = answered.sum(axis=0)
    *percentiles, overall = _percentiles(np.vstack([answered, histogram]))
    return {
        "slots": [
            [number, failed, *each]
            for number, failed, each in zip(
                answered.sum(axis=1).tolist(), total[:, 0].tolist(), percentiles, strict=True
            )
        ],
        "histogram": histogram.tolist(),
        "percentiles": overall,
    }


def _percentiles(lines: Counts) -> list[list[float | None]]:
    """Returns the percentiles of each line of counts, or as many times None where all are zero."""
    reached = np.cumsum(lines, axis=1)
    figures = np.stack([_percentile(lines, reached, percent) for percent in PERCENTS], axis=1)
    return [
        [float(f"{figure:.4g}") for figure in line] if total else [None] * len(PERCENTS)
        for line, total in zip(figures.tolist(), reached[:, -1].tolist(), strict=True)
    ]


def _percentile(lines: Counts, reached: Counts, percent: int) -> npt.NDArray[np.float64]:
    """Returns where a request of each line lies, a bin's counts spread evenly over its logarithm.

    The request is the first that so many percent are no longer than, so that one alone has equal
    percentiles. What it returns for a line of zeros means nothing.
    """
    wanted = np.ceil(reached[:, -1] * (percent / 100))
    place = np.minimum((reached < wanted[:, None]).sum(axis=1), BINS - 1)
    own = np.arange(len(lines)), place
    # Each stands in the middle of its share of the bin.
    part = 1 - (reached[own] - wanted + 0.5) / np.maximum(lines[own], 1)
    low, high = EDGES[place], EDGES[place + 1]
    found: npt.NDArray[np.float64] = low * (high / low) ** part
    return found
