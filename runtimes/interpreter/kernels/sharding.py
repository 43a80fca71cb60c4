"""Shardy's operations: in one process a value lies where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.program import Kernel, Program

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]

# Each gives the parts of a value other places, and the whole of it stays what it is.
_ANNOTATIONS: Final = (
    "all_gather all_slice all_to_all collective_permute data_flow_edge func_data_flow_edge"
    " propagation_barrier reshard sharding_constraint"
)
# What an unreduced value is, only several devices can say.
_REDUCING: Final = "all_reduce reduce_scatter replicated_to_unreduced sharded_to_unreduced"


def _annotation(context: BuildContext) -> Kernel:
    return _unchanged


def _unchanged(array: Array) -> Array:
    return array


def _group(context: BuildContext) -> Kernel:
    return _nothing


def _nothing(array: Array) -> tuple[()]:
    return ()


def _named(context: BuildContext) -> Kernel:
    (body,) = context.regions
    return _Body(body)


class _Body:
    """The program of a region that runs once."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, *arguments: Array) -> Any:
        results = self._program.consume([*arguments])
        return results[0] if len(results) == 1 else results


def _foreign(context: BuildContext) -> Kernel:
    context.unsupported("is a computation of several devices, and this process is one")


BUILDERS: Final[Mapping[str, Builder]] = {
    **{f"sdy.{name}": _annotation for name in _ANNOTATIONS.split()},
    **{f"sdy.{name}": _foreign for name in _REDUCING.split()},
    "sdy.manual_computation": _foreign,
    "sdy.named_computation": _named,
    "sdy.sharding_group": _group,
    # Between static types, which are all that a run has, it changes nothing either.
    "tensor.cast": _annotation,
}
