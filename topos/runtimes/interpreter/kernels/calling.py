"""Calls: the kernel of an operation that runs a function of the module."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.budget import Place, running
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo.dialect import calling as dialect
from topos.stablehlo.ir import Symbol

__all__ = ["BUILDERS", "calling"]


def calling(context: BuildContext[Any], name: Symbol) -> Kernel:
    """Returns the kernel that gives the operands of `context` to the function called `name`."""
    operation = context.operation
    place = (operation.line, operation.column)
    return partial(_called, context.function(name, operation), place)


def _called(program: Program, place: Place, *arguments: Array) -> Any:
    budget = running()
    if budget is not None:
        budget.spend(place)
    return single(program.consume([*arguments]))


def _call(context: BuildContext[dialect.Call]) -> Kernel:
    return calling(context, context.op.callee)


BUILDERS: Final[Builders] = {dialect.Call: _call}
