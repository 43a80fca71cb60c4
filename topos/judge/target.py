"""The runtime that is judged: one of ours in its worker, any program, or a Python function."""

from __future__ import annotations

import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.engine import Numerics
from topos.errors import ArgumentError, ExecutionError, ToposError, UnavailableError
from topos.runtimes._archive import load, save
from topos.runtimes._runtime import Executable, isolating, requested
from topos.runtimes._signature import ModuleSignature, require_results
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import Module

T = TypeVar("T")
R = TypeVar("R")
# Takes a verified module and its arguments, returns its results.
RunFunction = Callable[[Module, Sequence[Array]], Sequence[npt.ArrayLike]]
TargetLike = str | RunFunction
# Takes the arguments of one module, returns its results.
Prepared = Callable[[Sequence[Array]], tuple[Array, ...]]
# How long a program may take, and how much of what it said is told.
SECONDS: Final = 600.0
LINES: Final = 8


class RunError(ToposError):
    """What a runtime that is judged said instead of results: it refused, died, or hung."""


@dataclass(frozen=True)
class Target:
    """A runtime by its name, a command line, or a function of a module and its arguments.

    A command line is called as `COMMAND MODULE ARGS.npz RESULTS.npz`. `numerics` and `options` are
    for a runtime that has a name, which runs in its worker.
    """

    runtime: TargetLike
    numerics: Numerics | str = Numerics.FAST
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.options and self.runtime not in runtimes.names():
            raise ArgumentError(f"options are for a runtime that has a name, got {self} with some")

    def run(
        self, module: Module, arguments: Sequence[Array], signature: ModuleSignature
    ) -> tuple[Array, ...]:
        """Returns the results of a module; raises what `prepared` and its function raise."""
        return self.prepared(module, signature)(arguments)

    def prepared(self, module: Module, signature: ModuleSignature) -> Prepared:
        """Returns what runs a module for any arguments; a runtime that has a name compiles it once.

        Both raise `RunError` for anything that is the runtime's, `UnavailableError` where the
        runtime is not there, and `ArgumentError` for options that are none.
        """
        runtime = self.runtime
        if callable(runtime):
            return _failing(lambda given: function_results(runtime, module, given, signature))
        if runtime not in runtimes.names():
            text = str(module)
            return _failing(lambda given: command_results(runtime, text, given, signature))
        adapter = runtimes.load(runtime)
        options = isolating(adapter) | requested(self.options)

        def compiling(text: str) -> Executable:
            return adapter.compile(text, numerics=self.numerics, options=options)

        compiled = _failing(compiling)(str(module))
        return _failing(lambda given: compiled(*given))

    def __str__(self) -> str:
        if callable(self.runtime):
            return getattr(self.runtime, "__name__", type(self.runtime).__name__)
        return self.runtime


def _failing(action: Callable[[T], R]) -> Callable[[T], R]:
    """Returns an action whose errors are those of a runtime that is judged."""

    def failing(given: T) -> R:
        try:
            return action(given)
        except (UnavailableError, ArgumentError):
            raise
        except ToposError as error:
            raise RunError(str(error)) from error

    return failing


def function_results(
    function: RunFunction, module: Module, arguments: Sequence[Array], signature: ModuleSignature
) -> tuple[Array, ...]:
    """Returns the results of a Python function; raises `ExecutionError` for whatever it raises."""
    try:
        results = tuple([np.asarray(each) for each in function(module, arguments)])
    # The function is anybody's.
    except Exception as error:
        raise ExecutionError(f"{type(error).__name__}: {error}") from error
    require_results(results, signature.results)
    return results


def command_results(
    command: str,
    text: str,
    arguments: Sequence[Array],
    signature: ModuleSignature,
    seconds: float = SECONDS,
) -> tuple[Array, ...]:
    """Returns the results that `COMMAND MODULE ARGS.npz RESULTS.npz` writes for a module's text.

    The archives hold arg0, arg1, ... and result0, result1, ..., as those of `topos run`. Raises
    `UnavailableError` where there is no such program, and `ExecutionError` where it fails, takes
    longer than `seconds`, or writes no such results.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        words = []
    if not words:
        raise ArgumentError(f"a runtime is a name or a command line, got {command!r}")
    with tempfile.TemporaryDirectory() as folder:
        module, given, written = (
            Path(folder) / name for name in ("module.mlir", "args.npz", "results.npz")
        )
        module.write_text(text)
        save(given, arguments, "arg")
        _run([*words, str(module), str(given), str(written)], seconds)
        if not written.is_file():
            raise ExecutionError(f"{words[0]} ended well and wrote no results")
        try:
            results = tuple(load(written, signature.results, "result"))
        except ArgumentError as error:
            raise ExecutionError(f"{words[0]}: {error}") from error
        require_results(results, signature.results)
        return results


def _run(command: Sequence[str], seconds: float) -> None:
    name = command[0]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ExecutionError(f"{name} took longer than {seconds:g} seconds") from None
    except OSError as error:
        raise UnavailableError(f"{name}: {error.strerror}") from error
    if done.returncode:
        said = "\n".join(done.stdout.strip().splitlines()[-LINES:])
        raise ExecutionError(f"{name} {_ending(done.returncode)}{': ' if said else ''}{said}")


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
