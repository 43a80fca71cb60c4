"""The cuda backend: an NVIDIA device by way of cupy, which loads where it is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend.device import device_table, too_small, trial
from topos.backend.formula import Formula, Precision
from topos.backend.task import Task
from topos.backend.terms import Declined, Kernel, Status

Array = npt.NDArray[Any]

FEWEST_FLOPS: Final = 1 << 31
"""The work from which a product is worth its copies: 1024 rows, columns and terms."""
FEWEST: Final = 1 << 22
"""The size from which a map is worth its copies."""

_FUNCTIONS: Final = {
    Formula.EXP: "exp",
    Formula.EXPM1: "expm1",
    Formula.LN: "log",
    Formula.LOG1P: "log1p",
    Formula.SQRT: "sqrt",
    Formula.TANH: "tanh",
    Formula.SIN: "sin",
    Formula.COS: "cos",
}


@cache
def absence() -> str | None:
    """Returns why this install has no cupy, or `None`."""
    return None if find_spec("cupy") is not None else "it needs cupy: pip install cupy-cuda12x"


def status() -> Status:
    """Returns the device that computes, or why none does."""
    refusal = _refusal()
    return Status(refusal is None, refusal or f"cupy {_cupy().__version__}")


def _kernel(name: str, task: Task) -> Kernel | Declined:
    """Returns a kernel that copies to the device and back, for tasks that are worth it."""
    refusal = too_small(task, FEWEST_FLOPS, FEWEST) or _refusal()
    if refusal is not None:
        return Declined(refusal)
    return Kernel(partial(_computed, getattr(_cupy(), name)), writes=True)


def _computed(function: Callable[..., Any], *operands: Array, out: Array | None = None) -> Array:
    cupy = _cupy()
    result: Array = cupy.asnumpy(function(*map(cupy.asarray, operands)))
    if out is None:
        return result
    np.copyto(out, result)
    return out


def _cupy() -> Any:
    return import_module("cupy")


@cache
def _refusal() -> str | None:
    # The module itself may fail to load, which is then the reason.
    return trial(lambda left, right: _computed(_cupy().matmul, left, right))


TABLE: Final = device_table(
    _FUNCTIONS, (Precision.F64, Precision.F32), "not measured on a device", _kernel
)
