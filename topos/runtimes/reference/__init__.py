"""The StableHLO reference interpreter that jaxlib carries, in a worker process.

It is slow, keeps subnormal numbers, and ends its process at a division by zero or at anything it
lacks; the worker takes that blow, and the next call starts a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._dynamic import specializing
from topos.runtimes._isolated import IsolatedExecutable, IsolatedRuntime
from topos.runtimes._placed import Placed
from topos.runtimes._runtime import ISOLATED, Executable, Runtime, isolated, requested
from topos.runtimes.reference import executable
from topos.stablehlo.forms import ModuleLike, text_of

__all__ = ["RUNTIME", "Reference"]

DEFAULT_SECONDS: Final = 60.0


class Reference(Runtime):
    """The interpreter that defines StableHLO's reading of each operation.

    Numerics change nothing: it evaluates one operation after the other. Calls from several
    threads are safe and take turns, for there is one worker process for each `Reference`.
    """

    name = executable.NAME
    worker: IsolatedRuntime

    def __init__(self) -> None:
        inside = executable.RUNTIME
        self.worker = IsolatedRuntime(inside, executable.__name__, DEFAULT_SECONDS)

    def status(self) -> Status:
        """Returns whether jax and jaxlib are installed, with their versions."""
        return self.worker.status()

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        """Returns `module` checked and held ready by the worker.

        The option `timeout` is the seconds that one call may take before it is stopped with
        `CrashError`; it is 60 where absent. The option `isolated` may be given, and is True. CHLO
        and batch normalization run decomposed. Nothing is kept in `cache`, for there is no
        compiled form beside the text. Raises `ParseError` or `VerifyError`, and
        `UnsupportedError` with the first operation that the interpreter lacks.
        """
        chosen = _isolated(requested(options))
        text = text_of(module)
        dynamic = specializing(self, text, numerics, options, cache)
        if dynamic is not None:
            return dynamic
        return self.worker.compile(text, numerics=numerics, options=chosen)

    def place(self, array: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held by the worker; there are no options but those of `compile`."""
        return self.worker.place(array, options=_isolated(requested(options)))

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> IsolatedExecutable:
        """Returns what `serialize` gave, loaded again; `options` are those of `compile`."""
        return self.worker.deserialize(data, options=_isolated(requested(options)))


def _isolated(chosen: dict[str, Any]) -> dict[str, Any]:
    if chosen.get(ISOLATED) is False:
        raise CompileError(
            "the reference runtime runs in a worker process alone, which a module may end: "
            "isolated needs True, got False"
        )
    isolated(chosen)
    return chosen


RUNTIME = Reference()
