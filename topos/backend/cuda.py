"""The cuda backend: an NVIDIA device by way of cupy, which loads where it is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend.coverage import Coverage
from topos.backend.device import too_small, trial
from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.precision import Precision
from topos.backend.status import Status
from topos.backend.task import Task

__all__ = ["COVERAGE", "FEWEST", "FEWEST_FLOPS", "absence", "offer", "status"]

Array = npt.NDArray[Any]

FEWEST_FLOPS: Final = 1 << 31
"""The work from which a product is worth its copies: 1024 rows, columns and terms."""
FEWEST: Final = 1 << 22
"""The size from which a map is worth its copies."""

_WIDE: Final = (Precision.F64, Precision.F32)
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
_BOUND: Final = "not measured on a device"
COVERAGE: Final[dict[Formula, Coverage]] = {
    formula: Coverage(_WIDE, Fidelity.ENVELOPE, Dispatch.DEVICE, _BOUND)
    for formula in (Formula.GEMM, *_FUNCTIONS)
}


@cache
def absence() -> str | None:
    """Returns why this install has no cupy, or `None`."""
    return None if find_spec("cupy") is not None else "it needs cupy: pip install cupy-cuda12x"


def status() -> Status:
    """Returns the device that computes, or why none does."""
    refusal = _refusal()
    return Status(refusal is None, refusal or f"cupy {_cupy().__version__}")


def offer(formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
    """Returns a kernel that copies to the device and back, for tasks that are worth it."""
    declined = too_small(task, FEWEST_FLOPS, FEWEST)
    if declined is not None:
        return declined
    refusal = _refusal()
    if refusal is not None:
        return Declined(refusal)
    name = "matmul" if formula is Formula.GEMM else _FUNCTIONS[formula]
    return partial(_computed, getattr(_cupy(), name))


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
