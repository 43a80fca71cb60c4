"""Interleaved timing of rival functions, so that a noisy machine treats them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

__all__ = ["Figures", "interleaved", "report"]

Figures = dict[str, float]


def interleaved(rivals: Mapping[str, Callable[[], object]], rounds: int) -> Figures:
    """Returns the least seconds that each rival took in any of `rounds` rounds, run in turn."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, rival in rivals.items():
            gc.collect()
            start = time.perf_counter()
            rival()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def report(title: str, figures: Mapping[str, str], ratio: float, target: str) -> None:
    """Prints one measurement: its parts, the ratio, and what it must reach."""
    print(title)
    for name, figure in figures.items():
        print(f"  {name:<34} {figure:>12}")
    print(f"  {'ratio':<34} {ratio:>11.2f}x   {target}\n")
