"""What jax says of a program beside its values: where they lie, and what sizes must hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels.canonical import Array
from topos.runtimes._signature import ArrayType
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


_PLACE: Final = re.compile(r"\{(\d+)\}")


def _shape_assertion(call: CustomCall, holds: Array, *numbers: Array) -> tuple[()]:
    if holds.all():
        return ()
    message = str(call.attributes.get("error_message", "a shape assertion does not hold"))
    raise ExecutionError(_PLACE.sub(lambda place: _shown(place, numbers), message))


def _shown(place: re.Match[str], numbers: tuple[Array, ...]) -> str:
    index = int(place[1])
    return str(numbers[index].tolist()) if index < len(numbers) else place[0]


def _asserted(call: CustomCall, operands: Sequence[ArrayType]) -> str:
    if not operands or operands[0].dtype != np.bool_:
        got = operands[0] if operands else "none"
        return f"needs a truth value as its first operand, got {got}"
    return f"needs 0 results, got {len(call.results)}" if call.results else ""


TARGETS: Final[Mapping[str, Target]] = {
    "AllocateBuffer": Target(_allocated, _alone),
    "SPMDFullToShardShape": _SAME,
    "SPMDShardToFullShape": _SAME,
    "Sharding": _SAME,
    "annotate_device_placement": _SAME,
    "shape_assertion": Target(_shape_assertion, _asserted),
    "xla.sdy.FuncResultSharding": _SAME,
    "xla.sdy.GlobalToLocalShape": _SAME,
    "xla.sdy.LocalToGlobalShape": _SAME,
    "xla.sdy.Sharding": _SAME,
}
