"""The interpreter: StableHLO text run in this process, by the oracle's own kernels when exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._packages import imported, installed
from topos.runtimes._runtime import Executable, Runtime, Status, requested
from topos.runtimes._stablehlo.custom_calls import CustomCall, register_custom_call

__all__ = ["RUNTIME", "CustomCall", "Interpreter", "register_custom_call", "run_text"]

Array = npt.NDArray[Any]


class Interpreter(Runtime):
    """Runs StableHLO with the bits of the oracle, or fast with numpy's own kernels and BLAS."""

    name = "interpreter"

    def status(self) -> Status:
        """Returns whether the parser's lark is installed; the rest comes with topos itself."""
        needs = installed(self.name, "", {"lark": "lark"})
        return Status(True, f"numpy {np.__version__}") if needs.ready else needs

    def compile(
        self,
        text: str,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns `text` parsed, verified and built into a list of kernels.

        The one option is `max_steps`: a run that takes more steps than that, each the turn of a
        loop or the call of a function, raises `ExecutionError`. Raises `ParseError`, `VerifyError`,
        `CompileError` for any other option, or `UnsupportedError` for what is known by name only.
        """
        exact = Numerics.of(numerics) is Numerics.EXACT
        max_steps = _max_steps(requested(text, options))
        # The parser is loaded by the first text, not by the import of an adapter.
        with imported(self.status()):
            from topos.runtimes._stablehlo.evaluate import compiled

        return compiled(text, exact, max_steps)


def _max_steps(options: dict[str, Any]) -> int | None:
    steps = options.pop("max_steps", None)
    if options:
        raise CompileError(f"the interpreter has the option max_steps, got {min(options)!r}")
    if steps is not None and (type(steps) is not int or steps < 0):
        raise CompileError(f"max_steps needs a whole number from 0 on, got {steps!r}")
    return steps


RUNTIME = Interpreter()


def run_text(text: str, args: Sequence[npt.ArrayLike]) -> list[Array]:
    """Returns the results of `@main` in `text` for `args`, run exactly."""
    return list(RUNTIME.compile(text, numerics=Numerics.EXACT)(*args))
