"""Collectives: what they mean in one process, which is the one replica of the one partition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders, unchanged
from topos.runtimes.interpreter.kernels.conversion import converter
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.dialect import collectives as dialect
from topos.stablehlo.opview import Table
from topos.stablehlo.types import dtype_of

__all__ = ["BUILDERS"]


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


BUILDERS: Final[Builders] = {
    dialect.AllGather: _gathered,
    dialect.AllReduce: _gathered,
    dialect.AllToAll: _gathered,
    dialect.CollectiveBroadcast: _gathered,
    dialect.CollectivePermute: _sent,
    dialect.CrossReplicaSum: _gathered,
    dialect.ReduceScatter: _gathered,
}
