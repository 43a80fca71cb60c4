"""Interleaved timing of rival functions, so that a noisy machine treats them alike."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping

__all__ = ["Figures", "interleaved", "report"]

Figures = dict[str, float]


def interleaved(
    rivals: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    row: int = 1,
    limit: float = math.inf,
) -> Figures:
    """Returns the least seconds that each rival took in any of `rounds` rounds, run in turn.

    A round has `row` calls of each. A rival that took `limit` seconds in all sits out the rest.
    """
    best, spent = dict.fromkeys(rivals, math.inf), dict.fromkeys(rivals, 0.0)
    for _ in range(rounds):
        for name, rival in rivals.items():
            gc.collect()
            for _ in range(row):
                if spent[name] >= limit:
                    break
                start = time.perf_counter()
                rival()
                seconds = time.perf_counter() - start
                spent[name] += seconds
                best[name] = min(best[name], seconds)
    return best


def report(title: str, figures: Mapping[str, str], ratio: float, target: str) -> None:
    """Prints one measurement: its parts, the ratio, and what it must reach."""
    print(title)
    for name, figure in figures.items():
        print(f"  {name:<34} {figure:>12}")
    print(f"  {'ratio':<34} {ratio:>11.2f}x   {target}\n")
