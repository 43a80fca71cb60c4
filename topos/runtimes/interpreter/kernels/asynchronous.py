"""Asynchronous operations: what is started is done at once, and waiting for it takes nothing.

The value of a future is the tuple of the values that it is of.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo.dialect import asynchronous as dialect

__all__ = ["BUILDERS"]


def _start(context: BuildContext[Any]) -> Kernel:
    return partial(_run, context.regions[0])


def _run(program: Program, *arguments: Array) -> tuple[Array, ...]:
    return tuple(program.run(*arguments))


BUILDERS: Final[Builders] = {
    dialect.AsyncDone: always(single),
    dialect.AsyncStart: _start,
}
