"""The assertion that jax makes about the sizes of a program exported for any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ExecutionError
from topos.runtimes._stablehlo.custom_calls.call import CustomCall, CustomKernel

__all__ = ["TARGETS"]

Array = npt.NDArray[Any]

_PLACE: Final = re.compile(r"\{(\d+)\}")


def _shape_assertion(call: CustomCall, holds: Array, *numbers: Array) -> tuple[()]:
    if holds.all():
        return ()
    message = str(call.attributes.get("error_message", "a shape assertion does not hold"))
    raise ExecutionError(_PLACE.sub(lambda place: _shown(place, numbers), message))


def _shown(place: re.Match[str], numbers: tuple[Array, ...]) -> str:
    index = int(place[1])
    return str(numbers[index].tolist()) if index < len(numbers) else place[0]


TARGETS: Final[Mapping[str, CustomKernel]] = {"shape_assertion": _shape_assertion}
