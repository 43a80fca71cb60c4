"""The interpreter: StableHLO text run in this process by the oracle's own kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._packages import imported, installed
from topos.runtimes._runtime import Executable, Runtime, Status, requested

__all__ = ["RUNTIME", "Interpreter", "run_text"]

Array = npt.NDArray[Any]


class Interpreter(Runtime):
    """Runs StableHLO with the bits of the oracle, under either numerics."""

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

        Both numerics are the same exact run, and there are no options. Raises `ParseError`,
        `VerifyError`, `CompileError` for any option, or `UnsupportedError` for an operation or a
        type that has no kernel here.
        """
        Numerics.of(numerics)
        unknown = sorted(requested(text, options))
        if unknown:
            raise CompileError(f"the interpreter has no options, got {unknown[0]!r}")
        # The parser is loaded by the first text, not by the import of an adapter.
        with imported(self.status()):
            from topos.runtimes._stablehlo.evaluate import compiled

        return compiled(text)


RUNTIME = Interpreter()


def run_text(text: str, args: Sequence[npt.ArrayLike]) -> list[Array]:
    """Returns the results of `@main` in `text` for `args`, run exactly."""
    return list(RUNTIME.compile(text, numerics=Numerics.EXACT)(*args))
