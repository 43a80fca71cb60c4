"""The memory of a server over a soak: sampled from outside, and whether it grows."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from serving_process import ServerProcess, memory

__all__ = ["Samples", "Trend"]

APART_SECONDS: Final = 1.0
FEWEST: Final = 10


class Trend(NamedTuple):
    """Megabytes in the first and in the last third after the warm-up, medians, of so many."""

    first: float
    last: float
    samples: int

    @property
    def growth(self) -> float:
        """The share that came on top; none where there are too few samples to tell."""
        return self.last / self.first - 1.0 if self.samples >= FEWEST else 0.0

    def __str__(self) -> str:
        if self.samples < FEWEST:
            return f"{self.samples} samples, too few to tell"
        return f"{self.first:.1f} MB, then {self.last:.1f} MB: {self.growth:+.1%}"


class Samples:
    """What the server and its workers hold, once a second, while all its workers run.

    Counted is what was written, files that are mapped aside: their share moves with whoever else
    maps them.
    """

    def __init__(self, server: ServerProcess, workers: int) -> None:
        self._server, self._workers = server, workers
        self._began = time.monotonic()
        self.seconds: list[float] = []
        self.server: list[float] = []
        self.together: list[float] = []

    async def sample(self) -> None:
        """Samples until it is cancelled."""
        while True:
            await asyncio.sleep(APART_SECONDS)
            processes = self._server.processes()
            own, both = memory(processes[:1]), memory(processes)
            if len(processes) == self._workers + 1 == len(self._server.processes()):
                self.seconds.append(time.monotonic() - self._began)
                self.server.append(own.written)
                self.together.append(both.written)

    def trend(self, figures: list[float], warming: float) -> Trend:
        """Returns how `figures` went, those of the first `warming` seconds aside."""
        pairs = zip(self.seconds, figures, strict=True)
        counted = [figure for seconds, figure in pairs if seconds >= warming]
        third = len(counted) // 3
        if not third:
            return Trend(0.0, 0.0, len(counted))
        first, last = statistics.median(counted[:third]), statistics.median(counted[-third:])
        return Trend(first, last, len(counted))

    def draw(self, path: Path) -> None:
        """Writes a picture of the samples."""
        from matplotlib.figure import Figure

        picture: Any = Figure(figsize=(8, 4), layout="constrained")
        axes = picture.subplots()
        axes.plot(self.seconds, self.together, label="server and workers")
        axes.plot(self.seconds, self.server, label="server")
        axes.set(xlabel="seconds", ylabel="MB", ylim=(0, None))
        axes.legend()
        picture.savefig(path)
