"""How long calls of a program take on a runtime: what was measured, and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

PERCENTILES: Final = (50, 90, 99, 100)
"""The percentiles that are told of every measurement; the last is the longest call."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The calls of one program on one runtime; every duration is in seconds.

    `latencies` are those of single calls, in the order of rounds and of threads within a round;
    `elapsed` is the time of all rounds by the clock on the wall. `compilation` and `first_call`
    are no part of them. `memory` is what the executable takes in bytes by its runtime's own
    account, None where that tells nothing. One that failed says so and has no latencies. `note`
    tells of the program's compiled forms.
    """

    runtime: str
    program: str
    rows: int | None
    latencies: npt.NDArray[np.float64]
    elapsed: float = 0.0
    compilation: float | None = None
    first_call: float | None = None
    memory: int | None = None
    failure: str | None = None
    note: str = ""

    @property
    def calls_per_second(self) -> float | None:
        """How many calls ended in a second, over all threads; None where none was measured."""
        return len(self.latencies) / self.elapsed if self.elapsed else None

    @property
    def rows_per_second(self) -> float | None:
        """How many rows came back in a second; None also where calls have no rows to count."""
        calls = self.calls_per_second
        return None if calls is None or self.rows is None else calls * self.rows

    def percentile(self, percent: float) -> float | None:
        """Returns the smallest measured latency that `percent` of the calls do not exceed.

        This is the nearest rank: what it returns is a call that took place. None where no call
        was measured.
        """
        if not len(self.latencies):
            return None
        return float(np.percentile(self.latencies, percent, method="inverted_cdf"))

    def record(self) -> dict[str, Any]:
        """Returns every figure under a name of its own, for JSON; seconds and bytes."""
        return {
            "runtime": self.runtime,
            "program": self.program,
            "rows": self.rows,
            "calls": len(self.latencies),
            "elapsed": self.elapsed,
            "compilation": self.compilation,
            "first_call": self.first_call,
            **{
                "max" if percent == 100 else f"p{percent}": self.percentile(percent)
                for percent in PERCENTILES
            },
            "calls_per_second": self.calls_per_second,
            "rows_per_second": self.rows_per_second,
            "memory": self.memory,
            "failure": self.failure,
            "note": self.note,
        }
