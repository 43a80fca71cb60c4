"""Asynchronous operations: what is started is done at once, and waiting for it takes nothing.

The value of a future is the tuple of the values that it is of.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.program import Kernel, Program

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _start(context: BuildContext) -> Kernel:
    return partial(_run, context.regions[0])


def _run(program: Program, *arguments: Array) -> tuple[Array, ...]:
    return tuple(program.run(*arguments))


def _done(context: BuildContext) -> Kernel:
    return _awaited


def _awaited(future: tuple[Array, ...]) -> Any:
    return future[0] if len(future) == 1 else future


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.async_done": _done,
    "stablehlo.async_start": _start,
}
