"""The interpreter: StableHLO text run in this process, by the oracle's own kernels when exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import CompileError
from topos.payload.kernels.canonical import Array
from topos.runtimes._dynamic import specializing
from topos.runtimes._packages import imported, missing
from topos.runtimes._packing import unpacked
from topos.runtimes._runtime import Executable, Runtime, isolated, requested
from topos.runtimes.interpreter.custom_calls import CustomCall, register_custom_call
from topos.stablehlo.forms import ModuleLike, text_of

__all__ = [
    "RUNTIME",
    "CustomCall",
    "Interpreter",
    "register_custom_call",
    "run_text",
]


class Interpreter(Runtime):
    """Runs StableHLO with the bits of the oracle, or fast with numpy's own kernels and BLAS."""

    name = "interpreter"

    def status(self) -> Status:
        """Returns whether the parser's lark is installed; the rest comes with topos itself."""
        absent = missing(self.name, "", {"lark": "lark"})
        return absent or Status(True, f"numpy {np.__version__}")

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        """Returns `module` parsed, verified and built into a list of kernels.

        With the option `max_steps`, a run that takes more steps than that, each the turn of a
        loop or the call of a function, raises `ExecutionError`. The option `isolated` may be given
        and changes nothing: no module ends this process. Nothing is kept in `cache`, for
        building takes about as long as reading. Raises `ParseError`, `VerifyError`,
        `CompileError` for any other option, or `UnsupportedError` for what is known by name only.
        """
        chosen = Numerics.of(numerics)
        text, max_steps = text_of(module), _max_steps(requested(options))
        dynamic = specializing(self, text, numerics, options, cache)
        if dynamic is not None:
            return dynamic
        # The parser is loaded by the first text, not by the import of an adapter.
        with imported(self.status()):
            from topos.runtimes.interpreter.run import compiled

        return compiled(text, chosen is Numerics.EXACT, max_steps)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> Executable:
        """Returns what the executable's `serialize` gave, compiled as it was; no options."""
        chosen = requested(options)
        isolated(chosen)
        if chosen:
            raise CompileError(f"the interpreter has no options here, got {options!r}")
        kept = unpacked(self.name, data)
        if kept is None:
            raise _unloadable()
        try:
            text, numerics = kept.code.decode(), Numerics(kept.origin["numerics"])
            steps = kept.origin["max_steps"]
            bounded = {"max_steps": int(steps)} if steps else None
        # A checksum does not say who wrote the rest.
        except (KeyError, ValueError) as error:
            raise _unloadable() from error
        return self.compile(text, numerics=numerics, options=bounded)


def _max_steps(options: dict[str, Any]) -> int | None:
    isolated(options)
    steps = options.pop("max_steps", None)
    if options:
        raise CompileError(f"the interpreter has the option max_steps, got {min(options)!r}")
    if steps is not None and (type(steps) is not int or steps < 0):
        raise CompileError(f"max_steps needs a whole number from 0 on, got {steps!r}")
    return steps


def _unloadable() -> CompileError:
    return CompileError(
        "the interpreter cannot load these bytes: they are damaged or no module of it"
    )


RUNTIME = Interpreter()


def run_text(text: str, args: Sequence[npt.ArrayLike]) -> list[Array]:
    """Returns the results of `@main` in `text` for `args`, run exactly."""
    return list(RUNTIME.compile(text, numerics=Numerics.EXACT)(*args))
