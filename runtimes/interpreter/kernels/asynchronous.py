"""Asynchronous operations: what is started is done at once, and waiting for it takes nothing.

The value of a future is the tuple of the values that it is of.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Kernel, Program
from topos.stablehlo.dialect import asynchronous as dialect

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _start(context: BuildContext[Any]) -> Kernel:
    return partial(_run, context.regions[0])


def _run(program: Program, *arguments: Array) -> tuple[Array, ...]:
    return tuple(program.run(*arguments))


def _done(context: BuildContext[Any]) -> Kernel:
    return _awaited


def _awaited(future: tuple[Array, ...]) -> Any:
    return future[0] if len(future) == 1 else future


BUILDERS: Final[Builders] = {
    dialect.AsyncDone: _done,
    dialect.AsyncStart: _start,
}
