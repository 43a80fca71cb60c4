"""The numba backend: kernels compiled for this machine, checked against the oracle's bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend import twins
from topos.backend.coverage import Coverage
from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.oracle import written
from topos.backend.precision import Precision
from topos.backend.status import Status
from topos.backend.task import GemmTask, MapTask, ReduceTask, Task

__all__ = ["COVERAGE", "absence", "offer", "refusal", "served", "status"]

Array = npt.NDArray[Any]


def _same_bits(*precisions: Precision) -> Coverage:
    return Coverage(precisions, Fidelity.BIT_IDENTICAL, Dispatch.HOST)


COVERAGE: Final[dict[Formula, Coverage]] = {
    Formula.GEMM: _same_bits(Precision.F64, Precision.F32),
    Formula.SUM: _same_bits(Precision.F64, Precision.F32),
    Formula.EXP: _same_bits(Precision.F64),
    Formula.LN: _same_bits(Precision.F64),
    Formula.TANH: _same_bits(Precision.F64),
}
_KERNELS: Final = {
    Formula.GEMM: "topos.payload.kernels.product.matmul",
    Formula.SUM: "topos.payload.kernels.reduction.sum",
    Formula.EXP: "topos.payload.kernels.maps.exp",
    Formula.LN: "topos.payload.kernels.maps.ln",
    Formula.TANH: "topos.payload.kernels.maps.tanh",
}
_MISSING: Final = "it needs numba: pip install 'topos-compiler[numba]'"


def absence() -> str | None:
    """Returns why this install has no numba, or `None`."""
    return None if _installed() else _MISSING


def status() -> Status:
    """Returns whether every compiled kernel serves, or why one does not.

    The first call compiles them all, or loads what numba kept on disk.
    """
    installed = _installed()
    if installed is None:
        return Status(False, _MISSING)
    refusals = (refusal(twin, dtype) for twin in twins.TWINS.values() for dtype in twin.dtypes)
    # One cause may keep every kernel from serving; it is told once.
    reasons = list(dict.fromkeys(reason for reason in refusals if reason is not None))
    return Status(not reasons, "; ".join(reasons) or f"numba {installed}")


def offer(formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
    """Returns the compiled twin of the oracle's kernel, or why it does not serve."""
    twin, dtype = twins.TWINS[_KERNELS[formula]], task.element.dtype
    refused = refusal(twin, dtype)
    if refused is not None:
        return Declined(refused)
    match task:
        case GemmTask():
            return twin.kernel
        case MapTask():
            return partial(written, twin.kernel)
        case ReduceTask(operand, axes) if twins.sums_rows(operand.shape, axes):
            return partial(written, partial(twin.kernel, axes=axes))
    return Declined("a sum needs trailing axes, some but not all")


def served(reference: Callable[..., Array], dtype: np.dtype[Any]) -> Callable[..., Array]:
    """Returns the compiled twin of `reference` for operands of `dtype`, or `reference` itself.

    A twin has the same bits: at its first use both run on fixed operands, some for each path
    through the compiled code, and it declines where one byte differs.
    """
    twin = twins.TWINS.get(f"{reference.__module__}.{reference.__name__}")
    if twin is None or dtype not in twin.dtypes or refusal(twin, dtype) is not None:
        return reference
    return twin.kernel


@cache
def refusal(twin: twins.Twin, dtype: np.dtype[Any]) -> str | None:
    """Returns why `twin` does not serve `dtype`, or `None` where it does."""
    try:
        for operands in twin.operands(dtype):
            if twin.kernel(*operands).tobytes() != twin.reference()(*operands).tobytes():
                return f"{twin.name} of {dtype} differs from the oracle's bits"
    except ImportError as error:
        return f"numba cannot be imported: {error}" if _installed() else _MISSING
    except Exception as error:  # A foreign compiler may raise anything; the oracle then serves.
        return f"{twin.name} of {dtype} does not compile: {type(error).__name__}: {error}"
    return None


@cache
def _installed() -> str | None:
    try:
        return version("numba")
    except PackageNotFoundError:
        return None
