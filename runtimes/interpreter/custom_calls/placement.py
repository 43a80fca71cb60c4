"""Where a value lies: sharding and memory, of which one process has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes._runtime import ArrayType
from topos.runtimes.interpreter.custom_calls.call import CustomCall, Target

__all__ = ["TARGETS"]


def _same(call: CustomCall, *operands: Array) -> list[Array]:
    return list(operands)


def _allocated(call: CustomCall) -> list[Array]:
    """Returns memory whose content is of no meaning, so that every run is the same."""
    return [np.zeros(stated.shape, stated.dtype) for stated in call.results]


def _placed(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if len(operands) != len(call.results):
        return f"needs a result for each of its {len(operands)} operands, got {len(call.results)}"
    return ""


def _alone(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    return f"needs 0 operands, got {len(operands)}" if operands else ""


_SAME: Final = Target(_same, _placed)
TARGETS: Final[Mapping[str, Target]] = {
    "AllocateBuffer": Target(_allocated, _alone),
    "SPMDFullToShardShape": _SAME,
    "SPMDShardToFullShape": _SAME,
    "Sharding": _SAME,
    "annotate_device_placement": _SAME,
    "xla.sdy.FuncResultSharding": _SAME,
    "xla.sdy.GlobalToLocalShape": _SAME,
    "xla.sdy.LocalToGlobalShape": _SAME,
    "xla.sdy.Sharding": _SAME,
}
