"""Loaded models: a bundle verified, compiled for a runtime, its weights placed once."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.bundle import Bundle, Program, Result, demand_runnable, deviation
from topos.bundle.compiled import Terms, prepared
from topos.errors import BundleError, ToposError, UnavailableError
from topos.runtimes import Executable
from topos.serving.description import Arena, Description, PortForm, ProgramForm
from topos.serving.messages import Answer, Call, Failed, Origin

Array = npt.NDArray[Any]

LINES: Final = 6


class LoadedModel:
    """Every program of a bundle as an executable that holds the weights; one copy serves all."""

    def __init__(self, description: Description, executables: list[Executable]) -> None:
        self.description = description
        self._executables = executables

    @classmethod
    def load(cls, origin: Origin) -> LoadedModel:
        """Returns the bundle at `origin` once each program has reproduced its oracle sample.

        Raises `BundleError` where the bundle is not what its manifest says, our verifier refuses a
        module or a result lies outside its envelope, and what the runtime raises for a text that
        it refuses. Each names the bundle by its path.
        """
        bundle = Bundle.load(origin.path)
        try:
            executables, notes = _executables(bundle, origin)
            return cls(_description(bundle, notes), executables)
        except ToposError as error:
            error.args = (_told(error, origin.path),)
            raise
        except Exception as error:
            kind = refusal(error)
            raise type(kind)(_told(kind, origin.path)) from error

    def run(self, program: int, arena: Arena) -> None:
        """Runs the program at that position on its inputs in `arena`, and puts its results there.

        Raises `ArgumentError` or `ExecutionError` as the executable does.
        """
        results = self._executables[program](*arena.inputs[program])
        for target, result in zip(arena.results[program], results, strict=True):
            np.copyto(target, result, casting="no")

    def answer(self, call: Call, arena: Arena) -> Answer | Failed:
        """Returns the answer to a call once it ran, or failed by an error of topos."""
        began = time.perf_counter()
        try:
            self.run(call.program, arena)
        except ToposError as error:
            return Failed(call.number, brief(error))
        return Answer(call.number, time.perf_counter() - began)


def brief(error: Exception) -> str:
    """Returns the first lines of what `error` says: a dump may follow them."""
    return "\n".join(str(error).strip().splitlines()[:LINES]) or type(error).__name__


def refusal(error: Exception) -> ToposError:
    """Returns the error of topos with which a bundle is refused that could not be loaded.

    A runtime, a package that it imports or a kernel of the user's own may raise anything. What a
    machine lacks, it may have the next time: that is `UnavailableError`.
    """
    if isinstance(error, ToposError):
        return error
    kind = UnavailableError if isinstance(error, OSError | MemoryError) else BundleError
    return kind(f"the bundle cannot be loaded: {type(error).__name__}: {brief(error)}")


def _told(error: ToposError, path: str) -> str:
    """Returns what `error` says, told of the bundle at `path`, and the command that says more."""
    reason = str(error)
    if path not in reason:
        reason = f"{path}: {reason}"
    # What a machine lacks is no fault that a check of the bundle would show.
    if isinstance(error, UnavailableError):
        return reason
    # The caret of a refused text stays under its column.
    between = "\n" if "\n" in reason else "; "
    return f"{reason}{between}topos check {shlex.quote(path)} shows all"


def _executables(bundle: Bundle, origin: Origin) -> tuple[list[Executable], tuple[str, ...]]:
    """Returns every program made ready, its weights placed, once its sample was reproduced.

    Beside them is what became of compiled forms, each line once.
    """
    # A runtime would call whatever a text names: first our verifier has to know all of it.
    for program in bundle.programs:
        demand_runnable(program)
    runtime = runtimes.load(origin.runtime)
    placed = {name: runtime.place(array) for name, array in bundle.weights().items()}
    cache = None if origin.cache is None else Path(origin.cache)
    terms = Terms(origin.numerics, origin.options, origin.compiled, cache)
    executables, notes = [], []
    for program in bundle.programs:
        made = prepared(runtime, program, terms)
        notes += [made.note] if made.note else []
        executables.append(made.executable.bind(program.resident(placed)))
        _require_sample(program, executables[-1], origin.runtime)
    return executables, tuple(dict.fromkeys(notes))


def _require_sample(program: Program, executable: Executable, runtime: str) -> None:
    """Raises `BundleError` where a call of the oracle sample leaves its envelope."""
    for call in program.sample():
        results = executable(*program.given(call))
        for port, result in zip(program.results, results, strict=True):
            _require_close(program, port, deviation(call.results[port.name], result), runtime)


def _require_close(program: Program, port: Result, off: float, runtime: str) -> None:
    if not off <= port.envelope:
        raise BundleError(
            f"{program.name} needs its {port.name} within {port.envelope:.3g} of the oracle's, "
            f"and {runtime} is {off:.3g} off"
        )


def _description(bundle: Bundle, notes: tuple[str, ...]) -> Description:
    programs = tuple(
        ProgramForm(
            program.rows,
            tuple(_form(each) for each in program.arguments if not each.resident),
            tuple(map(_form, program.results)),
        )
        for program in bundle.programs
    )
    return Description(bundle.name, bundle.version, bundle.batched, programs, notes)


def _form(port: Any) -> PortForm:
    return PortForm(port.name, tuple(port.shape), np.dtype(port.dtype).name)
