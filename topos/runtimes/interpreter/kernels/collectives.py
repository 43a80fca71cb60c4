"""Collectives, transfers, shardings and what runs beside the program, in one process alone.

The process is the one replica of the one partition, where a value lies where it lies. What is
started is done at once, and a future's value is the tuple of the values that it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders, always, unchanged
from topos.runtimes.interpreter.kernels.conversion import converter
from topos.runtimes.interpreter.program import Array, Kernel, single
from topos.stablehlo.dialect import asynchronous, collectives, of_family, sharding
from topos.stablehlo.opview import Table
from topos.stablehlo.types import dtype_of


def _members(context: BuildContext[Any], key: str) -> tuple[int, ...]:
    """Returns the processes that an attribute names, of which there is only number 0.

    A group is filled up with -1 to the length of the longest.
    """
    table: Table | None = getattr(context.op, key)
    if table is None:
        context.unsupported(f"with {key} of something other than numbers is not supported")
    named = tuple(member for member in table.values if member != -1)
    if set(named) - {0}:
        context.unsupported(f"runs in process 0 alone, got the {key} {list(named)}")
    return named


def _gathered(context: BuildContext[Any]) -> Kernel:
    """Builds what joins, sums or exchanges the values of a group: of one, its own value.

    A group that is not named is that of every process. A body that combines in a wider format
    never runs, but its results are in that format.
    """
    _members(context, "replica_groups")
    pairs = zip(context.operands, context.results, strict=True)
    kernels = [converter(dtype_of(operand), dtype_of(result)) for operand, result in pairs]
    return kernels[0] if len(kernels) == 1 else partial(_each, kernels)


def _each(kernels: Sequence[Kernel], *arrays: Array) -> list[Array]:
    return [kernel(array) for kernel, array in zip(kernels, arrays, strict=False)]


def _sent(context: BuildContext[Any]) -> Kernel:
    """Builds what sends a value along pairs of processes; where nothing arrives there are zeros."""
    return unchanged if _members(context, "source_target_pairs") else np.zeros_like


def _transfer(context: BuildContext[Any]) -> NoReturn:
    context.unsupported("exchanges values with another process, and this one runs alone")


# Each gives the parts of a value other places, and the whole of it stays what it is.
_ANNOTATIONS: Final = (
    sharding.AllGather,
    sharding.AllSlice,
    sharding.AllToAll,
    sharding.CollectivePermute,
    sharding.DataFlowEdge,
    sharding.FuncDataFlowEdge,
    sharding.PropagationBarrier,
    sharding.Reshard,
    sharding.ShardingConstraint,
)
# What an unreduced value is, only several devices can say.
_REDUCING: Final = (
    sharding.AllReduce,
    sharding.ReduceScatter,
    sharding.ReplicatedToUnreduced,
    sharding.ShardedToUnreduced,
)


def _named(context: BuildContext[Any]) -> Kernel:
    (body,) = context.regions
    return lambda *arguments: single(body.consume([*arguments]))


def _foreign(context: BuildContext[Any]) -> Kernel:
    context.unsupported("is a computation of several devices, and this process is one")


def _start(context: BuildContext[Any]) -> Kernel:
    (body,) = context.regions
    return lambda *arguments: tuple(body.run(*arguments))


BUILDERS: Final[Builders] = {
    collectives.AllGather: _gathered,
    collectives.AllReduce: _gathered,
    collectives.AllToAll: _gathered,
    collectives.CollectiveBroadcast: _gathered,
    collectives.CollectivePermute: _sent,
    collectives.CrossReplicaSum: _gathered,
    collectives.ReduceScatter: _gathered,
    **dict.fromkeys(_ANNOTATIONS, always(unchanged)),
    **dict.fromkeys(_REDUCING, _foreign),
    sharding.ManualComputation: _foreign,
    sharding.NamedComputation: _named,
    sharding.ShardingGroup: always(lambda array: ()),
    **dict.fromkeys(of_family("transfer").values(), _transfer),
    asynchronous.AsyncDone: always(single),
    asynchronous.AsyncStart: _start,
}
