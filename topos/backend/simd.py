"""The simd backend: numpy's BLAS and its loops, which choose the processor's vectors themselves.

No task is too small for it: already at one element a call of numpy takes a fifth of what the
kernels of the oracle take. Its kernels raise no error of their own; a run ignores numpy's
floating-point warnings around them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend.coverage import Coverage
from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.oracle import written
from topos.backend.precision import Precision
from topos.backend.status import Status
from topos.backend.task import GemmTask, MapTask, ReduceTask, Task
from topos.payload import Shape, kernels, without
from topos.payload.kernels.conversion import promoted, rounded

__all__ = ["COVERAGE", "ULP", "absence", "offer", "status"]

Array = npt.NDArray[Any]

ULP: Final = {
    Formula.EXP: 4,
    Formula.EXPM1: 4,
    Formula.LN: 4,
    Formula.LOG1P: 4,
    Formula.SQRT: 0,
    Formula.RSQRT: 2,
    Formula.TANH: 4,
    Formula.LOGISTIC: 6,
    Formula.SIN: 4,
    Formula.COS: 4,
}
"""The envelope of each map in units in the last place, wherever its result is a normal number."""

_WIDE: Final = (Precision.F64, Precision.F32)


def _near(precisions: tuple[Precision, ...], bound: str) -> Coverage:
    return Coverage(precisions, Fidelity.ENVELOPE, Dispatch.HOST, bound)


_IN_ANY_ORDER: Final = "n units in the last place of the sum of the magnitudes of its n terms"
COVERAGE: Final[dict[Formula, Coverage]] = {
    Formula.GEMM: _near(tuple(Precision), _IN_ANY_ORDER),
    **{
        formula: _near(_WIDE, f"{ulp} units in the last place of a normal result")
        for formula, ulp in ULP.items()
    },
    Formula.SUM: _near(tuple(Precision), _IN_ANY_ORDER),
    Formula.MAX: _near(_WIDE, "0 units in the last place; a zero may have either sign"),
}


def absence() -> str | None:
    """Returns `None`: numpy is always there."""
    return None


def status() -> Status:
    """Returns the BLAS that numpy was built on and the vectors that it found."""
    settings: Any = np.show_config(mode="dicts")
    blas = settings["Build Dependencies"]["blas"]
    vectors = settings["SIMD Extensions"].get("found") or settings["SIMD Extensions"]["baseline"]
    return Status(True, f"numpy {np.__version__}, {blas['name']}, {' '.join(vectors)}")


def offer(formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
    """Returns numpy's own function; 16-bit floats compute in float32 and round once."""
    match task:
        case GemmTask():
            return _of_width(np.matmul, task)
        case MapTask(operand) if formula in _COMPOSED:
            return partial(_filled, _COMPOSED[formula], operand.shape)
        case MapTask():
            return _UFUNCS[formula]
        case ReduceTask(operand, axes):
            reduction = partial(_REDUCTIONS[formula], axes=axes)
            return _of_width(partial(_filled, reduction, without(operand.shape, axes)), task)
    return Declined(f"numpy has no function for {formula.value}")


def _of_width(kernel: Kernel, task: Task) -> Kernel:
    narrow = task.element.dtype.itemsize == 2
    return partial(written, partial(_through_float32, kernel)) if narrow else kernel


def _through_float32(kernel: Kernel, *operands: Array) -> Array:
    wide = kernel(*(promoted(operand) for operand in operands))
    return rounded(np.asarray(wide), operands[0].dtype)


def _filled(
    function: Callable[..., Array], shape: Shape, values: Array, out: Array | None = None
) -> Array:
    return function(values, out=np.empty(shape, values.dtype) if out is None else out)


_UFUNCS: Final[dict[Formula, np.ufunc]] = {
    Formula.EXP: np.exp,
    Formula.EXPM1: np.expm1,
    Formula.LN: np.log,
    Formula.LOG1P: np.log1p,
    Formula.SQRT: np.sqrt,
    Formula.TANH: np.tanh,
    Formula.SIN: np.sin,
    Formula.COS: np.cos,
}
_COMPOSED: Final[dict[Formula, Callable[..., Array]]] = {
    Formula.RSQRT: kernels.fast.rsqrt,
    Formula.LOGISTIC: kernels.fast.logistic,
}
_REDUCTIONS: Final[dict[Formula, Callable[..., Array]]] = {
    Formula.SUM: kernels.fast.sum_along,
    Formula.MAX: kernels.fast.maximum_along,
}
