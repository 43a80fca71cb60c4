"""Collectives: what they mean in one process, which is the one replica of the one partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.operations.conversion import converter
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Constant, Site
from topos.runtimes._stablehlo.syntax import Dense, Opaque
from topos.runtimes._stablehlo.types import dtype_of

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _members(site: Site, key: str) -> tuple[int, ...]:
    """Returns the processes that an attribute names, of which there is only number 0.

    A group is filled up with -1 to the length of the longest.
    """
    value = site.optional(key)
    if isinstance(value, Opaque) or not isinstance(value, Dense | tuple | None):
        site.unsupported(f"with {key} of something other than numbers is not supported")
    named = tuple(member for member in site.integers(key, ()) if member != -1)
    if set(named) - {0}:
        site.unsupported(f"runs in process 0 alone, got the {key} {list(named)}")
    return named


def _gathered(site: Site) -> Kernel:
    """Builds what joins, sums or exchanges the values of a group: of one, its own value.

    A group that is not named is that of every process. A body that combines in a wider format
    never runs, but its results are in that format.
    """
    _members(site, "replica_groups")
    pairs = zip(site.operands, site.results, strict=True)
    kernels = [converter(dtype_of(operand), dtype_of(result)) for operand, result in pairs]
    return kernels[0] if len(kernels) == 1 else partial(_each, kernels)


def _each(kernels: Sequence[Kernel], *arrays: Array) -> list[Array]:
    return [kernel(array) for kernel, array in zip(kernels, arrays, strict=False)]


def _sent(site: Site) -> Kernel:
    """Builds what sends a value along pairs of processes; where nothing arrives there are zeros."""
    return _unchanged if _members(site, "source_target_pairs") else np.zeros_like


def _unchanged(array: Array) -> Array:
    return array


def _identity(site: Site) -> Constant:
    return Constant(np.zeros((), np.uint32))


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.all_gather": _gathered,
    "stablehlo.all_reduce": _gathered,
    "stablehlo.all_to_all": _gathered,
    "stablehlo.collective_broadcast": _gathered,
    "stablehlo.collective_permute": _sent,
    "stablehlo.cross-replica-sum": _gathered,
    "stablehlo.partition_id": _identity,
    "stablehlo.reduce_scatter": _gathered,
    "stablehlo.replica_id": _identity,
}
