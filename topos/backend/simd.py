"""The simd backend: numpy's BLAS and its loops, which choose the processor's vectors themselves.

No task is too small for it: already at one element a call of numpy takes a fifth of what the
kernels of the oracle take. Its kernels raise no error of their own; a run ignores numpy's
floating-point warnings around them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from topos.backend.chain import CLEAN
from topos.backend.formula import MAPS, Formula, Precision
from topos.backend.task import GemmTask, OperationTask, ReduceTask
from topos.backend.terms import (
    Coverage,
    Declined,
    Dispatch,
    Fidelity,
    Function,
    Kernel,
    Row,
    Status,
)
from topos.op import Array, Compare, Convert, Fold, LogSoftmax, LogSumExp
from topos.payload import f32, f64
from topos.payload.kernels import fast, fast_error_functions
from topos.payload.kernels.conversion import promoted, rounded


def absence() -> str | None:
    """Returns `None`: numpy is always there."""
    return None


def status() -> Status:
    """Returns the BLAS that numpy was built on and the vectors that it found."""
    settings: Any = np.show_config(mode="dicts")
    blas = settings["Build Dependencies"]["blas"]
    vectors = settings["SIMD Extensions"].get("found") or settings["SIMD Extensions"]["baseline"]
    return Status(True, f"numpy {np.__version__}, {blas['name']}, {' '.join(vectors)}")


def _product(task: GemmTask) -> Kernel:
    return _of_width(np.matmul, task)


def _reduction(function: Function, task: ReduceTask) -> Kernel:
    return _of_width(partial(function, axes=task.axes), task)


def _of_width(function: Function, task: GemmTask | ReduceTask) -> Kernel:
    """Returns the kernel of `function`; 16-bit floats compute in float32 and round once."""
    if task.element.dtype.itemsize == 2:
        return Kernel(partial(_through_float32, function))
    return Kernel(function, writes=True)


def _through_float32(function: Function, *operands: Array) -> Array:
    wide = function(*(promoted(operand) for operand in operands))
    return rounded(np.asarray(wide), operands[0].dtype)


def _operation(task: OperationTask) -> Kernel | Declined:
    """Returns the kernel of an operation whose parameters it needs."""
    match task.operation:
        case Compare(direction=direction):
            return Kernel.of(getattr(np, direction.name.lower()))
        case Convert(element=element) if element.dtype in (f32.dtype, f64.dtype):
            return Kernel(partial(fast.convert, dtype=element.dtype), writes=True)
        case Fold() as each:
            function = partial(fast.fold, axis=each.axis, step=each.step, extent=each.extent)
            return Kernel(function, writes=True)
        case LogSoftmax(axis=axis):
            return Kernel(partial(fast.log_softmax, axis=axis), writes=True)
        case LogSumExp(axis=axis):
            return Kernel(partial(fast.log_sum_exp, axis=axis), writes=True)
    return Declined(f"numpy has no function for {task.operation}")


def _row(bound: str, kernel: Kernel) -> Row:
    """Returns the row of a kernel for every task."""
    return Row(_near(bound), lambda task: kernel)


_WIDE: Final = (Precision.F64, Precision.F32)
_IN_ANY_ORDER: Final = "n units in the last place of the sum of the magnitudes of its n terms"
_ALIKE: Final = "0 units in the last place; a NaN may have any sign and payload"
_UNSTATED: Final = "numpy states none, and none was measured"
_ZEROS: Final = "0 units in the last place; a zero may have either sign"
_STABLE: Final = "that of its maps and sums"


def _near(bound: str, *precisions: Precision) -> Coverage:
    return Coverage(precisions or _WIDE, Fidelity.ENVELOPE, Dispatch.HOST, bound)


# A map has numpy's function of its name, but for these.
_RENAMED: Final = {Formula.LN: Kernel.of(np.log)}
_COMPOSED: Final = {
    Formula.RSQRT: Kernel(fast.rsqrt, writes=True, over=(0,)),
    Formula.LOGISTIC: Kernel(fast.logistic, writes=True, over=(0,)),
    Formula.ERF: Kernel(fast_error_functions.erf, writes=True, over=(0,)),
}
_FUNCTIONS: Final = {
    formula: Kernel.of(getattr(np, formula.value)) for formula in MAPS if hasattr(np, formula.value)
}
_MAPS: Final = {**_FUNCTIONS, **_RENAMED, **_COMPOSED}
ULP: Final = {
    **dict.fromkeys(_MAPS, 4),
    Formula.SQRT: 0,
    Formula.RSQRT: 2,
    Formula.LOGISTIC: 6,
    Formula.ERF: fast_error_functions.UNITS["erf"],
}
"""The envelope of each map in units in the last place, wherever its result is a normal number."""

TABLE: Final[dict[Formula, Row]] = {
    Formula.GEMM: Row(_near(_IN_ANY_ORDER, *Precision), _product),
    **{
        formula: _row(f"{ulp} units in the last place of a normal result", _MAPS[formula])
        for formula, ulp in ULP.items()
    },
    Formula.SUM: Row(_near(_IN_ANY_ORDER, *Precision), partial(_reduction, fast.sum_along)),
    Formula.MAX: Row(_near(_ZEROS), partial(_reduction, fast.maximum_along)),
    **{
        formula: _row(_ALIKE, Kernel.of(ufunc))
        for formula, ufunc in CLEAN.items()
        if formula not in MAPS
    },
    Formula.MAXIMUM: _row(_ZEROS, Kernel.of(np.maximum)),
    Formula.MINIMUM: _row(_ZEROS, Kernel.of(np.minimum)),
    Formula.STEP: _row(_ALIKE, Kernel(fast.step, writes=True, broadcasts=True)),
    Formula.POWER: _row(_UNSTATED, Kernel.of(np.power)),
    Formula.COMPARE: Row(Coverage(_WIDE, Fidelity.BIT_IDENTICAL, Dispatch.HOST), _operation),
    Formula.CONVERT: Row(_near(_ALIKE), _operation),
    Formula.FOLD: Row(_near(_ALIKE), _operation),
    Formula.LOG_SOFTMAX: Row(_near(_STABLE), _operation),
    Formula.LOG_SUM_EXP: Row(_near(_STABLE), _operation),
}
