"""Calls: the kernel of an operation that runs a function of the module."""

from __future__ import annotations

from dataclasses import dataclass
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
    return _Call(context.function(name, operation), (operation.line, operation.column))


@dataclass(frozen=True, slots=True)
class _Call:
    """A function's program; `place` is where it is called."""

    program: Program
    place: Place

    def __call__(self, *arguments: Array) -> Any:
        budget = running()
        if budget is not None:
            budget.spend(self.place)
        return single(self.program.consume([*arguments]))


def _call(context: BuildContext[dialect.Call]) -> Kernel:
    return calling(context, context.op.callee)


BUILDERS: Final[Builders] = {dialect.Call: _call}
