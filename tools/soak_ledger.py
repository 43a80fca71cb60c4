"""The ledger of a soak: what was counted, and every fault that was found."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

__all__ = ["Ledger"]

SHOWN: Final = 20


class Ledger:
    """Counts by what was done and what came of it; a fault is told at once."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.durations: list[float] = []
        self.faults: list[str] = []
        self.began = time.monotonic()
        """When the load began."""
        self.draining = False

    def count(self, what: str) -> None:
        """Counts one thing done."""
        self.counts[what] += 1

    def fault(self, what: str, detail: str) -> None:
        """Takes a fault with when it happened."""
        self.counts[f"FAULT: {what}"] += 1
        line = f"{time.monotonic() - self.began:7.1f} s  {what}: {detail}"
        self.faults.append(line)
        if len(self.faults) <= SHOWN:
            print(line, flush=True)

    def percentile(self, share: float) -> float:
        """Returns the duration within which such a share of the answers came."""
        ordered = sorted(self.durations)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
