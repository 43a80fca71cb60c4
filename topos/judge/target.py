"""The runtime that is judged: one of ours in its worker, any program, or a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.engine import Numerics
from topos.errors import ArgumentError, ExecutionError, ToposError, UnavailableError
from topos.judge.command import command_results
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
            raise RunError(_shown(str(error))) from error

    return failing


def function_results(
    function: RunFunction, module: Module, arguments: Sequence[Array], signature: ModuleSignature
) -> tuple[Array, ...]:
    """Returns the results of a Python function; raises `ExecutionError` for whatever it raises.

    The arguments are copies, and so are the results: the function may write to what it was given,
    and keep it.
    """
    try:
        taken = [np.array(each) for each in arguments]
        results = tuple([np.array(each) for each in function(module, taken)])
    # The function is anybody's, and so is the text of what it raises.
    except Exception as error:
        raise ExecutionError(f"{type(error).__name__}: {_text(error)}") from error
    require_results(results, signature.results)
    return results


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "its text cannot be had"


def _shown(text: str) -> str:
    """Returns a text without what a terminal would obey and what no file in UTF-8 takes."""
    return "".join(each if each.isprintable() or each in "\t\n" else "\ufffd" for each in text)
