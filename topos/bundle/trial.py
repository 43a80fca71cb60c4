"""A program of a bundle on trial on a runtime: compiled, called for a while, and measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topos.bundle.measurement import Measurement
from topos.bundle.modules import demand_runnable
from topos.engine import Numerics
from topos.errors import ToposError
from topos.runtimes import Executable, Runtime

if TYPE_CHECKING:
    from topos.bundle.bundle import Bundle, Program

__all__ = ["Trial", "trials"]

Array = npt.NDArray[Any]


class Trial:
    """One program on one runtime.

    `prepare` first, then `round` as often as wanted, each adding to what `measurement` returns.
    A fault of the runtime ends the trial and becomes its measurement's `failure`; no other
    trial suffers from it.
    """

    def __init__(
        self, runtime: Runtime, program: Program, resident: Mapping[int, Any], numerics: Numerics
    ) -> None:
        self.runtime, self.program = runtime, program
        self._resident, self._numerics = resident, numerics
        self._executable: Executable | None = None
        self._arguments: list[Array] = []
        self._latencies: list[float] = []
        self._elapsed = 0.0
        self._compilation: float | None = None
        self._first_call: float | None = None
        self._failure: str | None = None

    def __str__(self) -> str:
        return f"{self.program.name} on {self.runtime.name}"

    @property
    def elapsed(self) -> float:
        """The seconds of all rounds so far."""
        return self._elapsed

    def prepare(self) -> None:
        """Compiles the program, binds its weights, and makes the first call, each timed."""
        try:
            start = time.perf_counter()
            executable = self.runtime.compile(self.program.text, numerics=self._numerics)
            self._compilation = time.perf_counter() - start
            self._executable = executable.bind(self._resident)
            self._arguments = _arguments(self.program)
            start = time.perf_counter()
            self._executable(*self._arguments)
            self._first_call = time.perf_counter() - start
        except ToposError as error:
            self._failure = _brief(error)

    def warm_up(self, seconds: float, threads: int) -> None:
        """Calls for `seconds` and measures nothing."""
        self._calls(seconds, threads)

    def round(self, seconds: float, threads: int) -> None:
        """Calls from `threads` threads until `seconds` are over, each at least once."""
        latencies, elapsed = self._calls(seconds, threads)
        self._latencies += latencies
        self._elapsed += elapsed

    def measurement(self) -> Measurement:
        """Returns what all rounds so far measured."""
        memory = None if self._executable is None else self._executable.memory()
        return Measurement(
            self.runtime.name,
            self.program.name,
            self.program.rows,
            np.asarray(self._latencies, np.float64),
            self._elapsed,
            self._compilation,
            self._first_call,
            None if memory is None else sum(memory),
            self._failure,
        )

    def _calls(self, seconds: float, threads: int) -> tuple[list[float], float]:
        if self._executable is None or self._failure is not None:
            return [], 0.0
        try:
            if threads == 1:
                return _repeated(self._executable, self._arguments, seconds)
            return _together(self._executable, self._arguments, seconds, threads)
        except ToposError as error:
            self._failure = _brief(error)
            return [], 0.0


def trials(
    bundle: Bundle,
    runtimes: Sequence[Runtime],
    programs: Sequence[Program],
    numerics: Numerics = Numerics.FAST,
) -> list[Trial]:
    """Returns a trial of every program on every runtime; a runtime holds the weights once.

    Raises `BundleError` where no runtime may be given a program.
    """
    for program in programs:
        demand_runnable(program)
    weights = bundle.weights()
    found = []
    for runtime in runtimes:
        placed = {name: runtime.place(array) for name, array in weights.items()}
        for program in programs:
            resident = {
                position: placed[argument.name]
                for position, argument in enumerate(program.arguments)
                if argument.resident
            }
            found.append(Trial(runtime, program, resident, numerics))
    return found


def _arguments(program: Program) -> list[Array]:
    """Returns the inputs of the oracle's first call: real ones, for time may depend on values."""
    inputs = program.sample()[0].inputs
    return [inputs[each.name] for each in program.inputs]


def _repeated(
    executable: Executable, arguments: Sequence[Array], seconds: float
) -> tuple[list[float], float]:
    """Returns how long each call took, and all of them with what lies between."""
    clock, latencies = time.perf_counter, list[float]()
    begin = clock()
    stop, end = begin + seconds, begin
    while end < stop or not latencies:
        start = clock()
        executable(*arguments)
        end = clock()
        latencies.append(end - start)
    return latencies, end - begin


def _together(
    executable: Executable, arguments: Sequence[Array], seconds: float, threads: int
) -> tuple[list[float], float]:
    begun = list[float]()
    # The last thread to arrive starts the clock of all.
    barrier = threading.Barrier(threads, action=lambda: begun.append(time.perf_counter()))

    def calls() -> list[float]:
        barrier.wait()
        return _repeated(executable, arguments, seconds)[0]

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(calls) for _ in range(threads)]
        latencies = [latency for each in waiting for latency in each.result()]
        return latencies, time.perf_counter() - begun[0]


def _brief(error: ToposError) -> str:
    return str(error).strip().splitlines()[0]
