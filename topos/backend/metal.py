"""The metal backend: the graphics processor of Apple silicon, by way of mlx; float32 alone."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
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
FEWEST: Final = 1 << 20
"""The size from which a map is worth its copies."""

_FUNCTIONS: Final = {
    Formula.EXP: "exp",
    Formula.EXPM1: "expm1",
    Formula.LN: "log",
    Formula.LOG1P: "log1p",
    Formula.SQRT: "sqrt",
    Formula.RSQRT: "rsqrt",
    Formula.TANH: "tanh",
    Formula.LOGISTIC: "sigmoid",
    Formula.SIN: "sin",
    Formula.COS: "cos",
    Formula.ERF: "erf",
}


@cache
def absence() -> str | None:
    """Returns why this machine has no Metal or this install no mlx, or `None`."""
    machine = platform.machine()
    if (sys.platform, machine) != ("darwin", "arm64"):
        return f"it needs Apple silicon, got {sys.platform} on {machine}"
    return None if find_spec("mlx") is not None else "it needs mlx: pip install mlx"


def status() -> Status:
    """Returns whether the device computes; the trial also warms its kernels."""
    refusal = _refusal()
    return Status(refusal is None, refusal or f"mlx {version('mlx')}")


def _kernel(name: str, task: Task) -> Kernel | Declined:
    """Returns a kernel that copies to the device and back, for tasks that are worth it."""
    refusal = too_small(task, FEWEST_FLOPS, FEWEST) or _refusal()
    if refusal is not None:
        return Declined(refusal)
    return Kernel(partial(_computed, getattr(_mlx(), name)), writes=True)


def _computed(function: Callable[..., Any], *operands: Array, out: Array | None = None) -> Array:
    result = function(*map(_mlx().array, operands))
    # The buffer protocol waits for the device.
    if out is None:
        return np.array(result)
    np.copyto(out, np.asarray(result))
    return out


def _mlx() -> Any:
    return import_module("mlx.core")


@cache
def _refusal() -> str | None:
    # The module itself may fail to load, which is then the reason.
    return trial(lambda left, right: _computed(_mlx().matmul, left, right))


TABLE: Final = device_table(
    _FUNCTIONS, (Precision.F32,), "mlx states no bound, and none was measured", _kernel
)
