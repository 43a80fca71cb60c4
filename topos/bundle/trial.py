"""Trials: programs of a bundle compiled, called for a while on a runtime, and measured in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.bundle.compiled import Terms, prepared
from topos.bundle.measurement import Measurement
from topos.bundle.modules import demand_runnable
from topos.bundle.report import brief
from topos.engine import Numerics
from topos.errors import ToposError
from topos.runtimes import Executable, Runtime
from topos.runtimes._runtime import isolating
from topos.runtimes._timing import Timing

if TYPE_CHECKING:
    from topos.bundle.bundle import Bundle, Program

Array = npt.NDArray[Any]

_NONE: Final = Timing(np.empty(0), 0.0)


class Trial:
    """One program on one runtime.

    `prepare` first, then `round` as often as wanted, each adding to `measurement`.
    A fault of the runtime ends the trial and becomes its measurement's `failure`; no other
    trial suffers from it.
    """

    def __init__(
        self,
        runtime: Runtime,
        program: Program,
        resident: Mapping[int, Any],
        numerics: Numerics,
        options: Mapping[str, Any],
        compiled: bool = False,
    ) -> None:
        self.runtime, self.program = runtime, program
        self._resident, self._terms = resident, Terms(numerics, options, compiled)
        self._executable: Executable | None = None
        self._arguments: list[Array] = []
        self.measurement = Measurement(runtime.name, program.name, program.rows, np.empty(0))
        """What all rounds so far measured."""

    def __str__(self) -> str:
        return f"{self.program.name} on {self.runtime.name}"

    def prepare(self) -> None:
        """Compiles the program, binds its weights, and makes the first call, each timed."""
        try:
            start = time.perf_counter()
            made = prepared(self.runtime, self.program, self._terms)
            self._learn(compilation=time.perf_counter() - start, note=made.note)
            self._executable = made.executable.bind(self._resident)
            # Those of the oracle: real ones, for time may depend on values.
            self._arguments = self.program.given(self.program.sample()[0])
            self._learn(first_call=self._executable.timed(self._arguments, 0.0).elapsed)
            # Asked now, for a worker may be gone when the measuring is over.
            memory = self._executable.memory()
            self._learn(memory=None if memory is None else sum(memory))
        except ToposError as error:
            self._learn(failure=brief(error))

    def warm_up(self, seconds: float, threads: int) -> None:
        """Calls for `seconds` and measures nothing."""
        self._calls(seconds, threads)

    def round(self, seconds: float, threads: int) -> None:
        """Calls from `threads` threads until `seconds` are over, each at least once."""
        timing, found = self._calls(seconds, threads), self.measurement
        latencies = np.concatenate([found.latencies, timing.latencies])
        self._learn(latencies=latencies, elapsed=found.elapsed + timing.elapsed)

    def _learn(self, **figures: Any) -> None:
        self.measurement = replace(self.measurement, **figures)

    def _calls(self, seconds: float, threads: int) -> Timing:
        if self._executable is None or self.measurement.failure is not None:
            return _NONE
        try:
            return self._executable.timed(self._arguments, seconds, threads)
        except ToposError as error:
            self._learn(failure=brief(error))
            return _NONE


def trials(
    bundle: Bundle,
    runtimes: Sequence[Runtime],
    programs: Sequence[Program],
    numerics: Numerics = Numerics.FAST,
    *,
    isolated: bool = False,
    compiled: bool = False,
) -> list[Trial]:
    """Returns a trial of every program on every runtime; a runtime holds the weights once.

    With `isolated` a foreign runtime compiles, runs and measures in its worker; with `compiled` it
    uses the compiled forms that fit.
    Raises `BundleError` where no runtime may be given a program.
    """
    for program in programs:
        demand_runnable(program)
    weights = bundle.weights()
    found = []
    options = {runtime: isolating(runtime) if isolated else {} for runtime in runtimes}
    for runtime, chosen in options.items():
        placed = {name: runtime.place(array, options=chosen) for name, array in weights.items()}
        if not weights:
            # To load a runtime's packages is no part of compiling.
            runtime.place(0.0, options=chosen)
        for program in programs:
            resident = program.resident(placed)
            found.append(Trial(runtime, program, resident, numerics, chosen, compiled))
    return found


ROUNDS: Final = 10
"""How many turns each trial gets, unless its time is over before."""
WARM_UP: Final = 0.1
"""The share of the measured time that goes by unmeasured, before the first round."""
LONGEST_WARM_UP: Final = 0.5


class Step(NamedTuple):
    """What comes next, before it is done: `done` steps of `total` are behind."""

    done: int
    total: int
    what: str


def rounds(trials: Sequence[Trial], seconds: float, threads: int) -> Iterator[Step]:
    """Prepares all trials, then measures each for `seconds` in `ROUNDS` interleaved rounds.

    Yields every step before it is taken: whoever stops asking, or is interrupted, finds what was
    measured so far in the trials. Every other round goes backwards, so that none always follows
    the same one.
    """
    total = len(trials) * (1 + ROUNDS)
    done = 0
    for trial in trials:
        yield Step(done, total, f"compiling {trial}")
        trial.prepare()
        trial.warm_up(min(seconds * WARM_UP, LONGEST_WARM_UP), threads)
        done += 1
    for number in range(ROUNDS):
        for trial in trials if number % 2 == 0 else reversed(trials):
            yield Step(done, total, f"round {number + 1} of {ROUNDS}: {trial}")
            # A call that takes longer than a round is not waited for ten times.
            if trial.measurement.elapsed < seconds:
                trial.round(seconds / ROUNDS, threads)
            done += 1
    yield Step(done, total, "done")
