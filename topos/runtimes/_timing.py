"""Calls made for a while, each of them timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Call = Callable[[], object]


class Timing(NamedTuple):
    """The seconds that each call took, and those that all took with what lies between."""

    latencies: npt.NDArray[np.float64]
    elapsed: float


def together(call: Call, seconds: float, threads: int) -> Timing:
    """Returns the timing of calls from several threads at once, each for at least one call."""
    if threads == 1:
        return _timing(*_repeated(call, seconds))
    begun = list[float]()
    # The last thread to arrive starts the clock of all.
    barrier = threading.Barrier(threads, action=lambda: begun.append(time.perf_counter()))

    def calls() -> list[float]:
        barrier.wait()
        return _repeated(call, seconds)[0]

    # The pool loads what writes logs, and few processes measure.
    pools = import_module("concurrent.futures")
    with pools.ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(calls) for _ in range(threads)]
        latencies = [latency for each in waiting for latency in each.result()]
        return _timing(latencies, time.perf_counter() - begun[0])


def _repeated(call: Call, seconds: float) -> tuple[list[float], float]:
    clock, latencies = time.perf_counter, list[float]()
    begin = clock()
    stop, end = begin + seconds, begin
    while end < stop or not latencies:
        start = clock()
        call()
        end = clock()
        latencies.append(end - start)
    return latencies, end - begin


def _timing(latencies: list[float], elapsed: float) -> Timing:
    return Timing(np.asarray(latencies, np.float64), elapsed)
