"""Shardy's operations: in one process a value lies where it lies."""

from __future__ import annotations

from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Kernel, Program
from topos.stablehlo.dialect import sharding as dialect

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]

# Each gives the parts of a value other places, and the whole of it stays what it is.
_ANNOTATIONS: Final = (
    dialect.AllGather,
    dialect.AllSlice,
    dialect.AllToAll,
    dialect.CollectivePermute,
    dialect.DataFlowEdge,
    dialect.FuncDataFlowEdge,
    dialect.PropagationBarrier,
    dialect.Reshard,
    dialect.ShardingConstraint,
)
# What an unreduced value is, only several devices can say.
_REDUCING: Final = (
    dialect.AllReduce,
    dialect.ReduceScatter,
    dialect.ReplicatedToUnreduced,
    dialect.ShardedToUnreduced,
)


def _annotation(context: BuildContext[Any]) -> Kernel:
    return _unchanged


def _unchanged(array: Array) -> Array:
    return array


def _group(context: BuildContext[Any]) -> Kernel:
    return _nothing


def _nothing(array: Array) -> tuple[()]:
    return ()


def _named(context: BuildContext[Any]) -> Kernel:
    (body,) = context.regions
    return _Body(body)


class _Body:
    """The program of a region that runs once."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, *arguments: Array) -> Any:
        results = self._program.consume([*arguments])
        return results[0] if len(results) == 1 else results


def _foreign(context: BuildContext[Any]) -> Kernel:
    context.unsupported("is a computation of several devices, and this process is one")


BUILDERS: Final[Builders] = {
    **dict.fromkeys(_ANNOTATIONS, _annotation),
    **dict.fromkeys(_REDUCING, _foreign),
    dialect.ManualComputation: _foreign,
    dialect.NamedComputation: _named,
    dialect.ShardingGroup: _group,
}
