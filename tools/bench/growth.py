"""The cost of a node at 100,000 nodes beside that at 10,000, for each phase."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import report

from topos import Network, Symbol, Tape

SMALL, LARGE = 10_000, 100_000
ROUNDS = 5


def phases(length: int) -> dict[str, float]:
    """Returns the microseconds a node of each phase, for a chain of `length` nodes."""
    tape = Tape()
    array = np.full((8, 8), 0.5, np.float32)
    value, weight = tape.parameter(array), tape.parameter(array)
    costs: dict[str, float] = {}

    def timed(phase: str, nodes: int, work: Callable[[], Any]) -> Any:
        gc.collect()
        start = time.perf_counter()
        result = work()
        costs[phase] = (time.perf_counter() - start) / nodes * 1e6
        return result

    def record() -> Any:
        current = value
        for _ in range(length // 2):
            current = current * weight + weight
        return current

    loss = timed("record", length, record).sum()
    # Each node of the chain adds about two of the derivative.
    adjoints = timed("differentiate", 2 * length, lambda: tape.differentiate(loss, [value, weight]))
    network: Network = tape.into_network()
    roots: list[Symbol] = [loss.symbol, *adjoints.roots()]
    plan = timed("lower", 3 * length, network.entry(roots).lower)
    timed("emit", 3 * length, plan.emit_stablehlo)
    timed("run", 3 * length, plan.forward)
    return costs


if __name__ == "__main__":
    rounds = [(phases(SMALL), phases(LARGE)) for _ in range(ROUNDS)]
    for phase in ("record", "differentiate", "lower", "emit", "run"):
        small = min(pair[0][phase] for pair in rounds)
        large = min(pair[1][phase] for pair in rounds)
        report(
            f"growth of {phase}",
            {f"{SMALL} nodes, us a node": f"{small:.3f}", f"{LARGE} nodes": f"{large:.3f}"},
            large / small,
            "must be at most 1.5x"
            if phase != "run"
            else "no target: the first run, schedule included",
        )
