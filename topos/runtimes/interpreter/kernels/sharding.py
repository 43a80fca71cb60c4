"""Shardy's operations: in one process a value lies where it lies."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builders, always, unchanged
from topos.runtimes.interpreter.program import Array, Kernel, Program, single
from topos.stablehlo.dialect import sharding as dialect

__all__ = ["BUILDERS"]


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


def _named(context: BuildContext[Any]) -> Kernel:
    (body,) = context.regions
    return partial(_run, body)


def _run(program: Program, *arguments: Array) -> Any:
    return single(program.consume([*arguments]))


def _foreign(context: BuildContext[Any]) -> Kernel:
    context.unsupported("is a computation of several devices, and this process is one")


BUILDERS: Final[Builders] = {
    **dict.fromkeys(_ANNOTATIONS, always(unchanged)),
    **dict.fromkeys(_REDUCING, _foreign),
    dialect.ManualComputation: _foreign,
    dialect.NamedComputation: _named,
    dialect.ShardingGroup: always(lambda array: ()),
}
