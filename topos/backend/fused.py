"""The fused backend: compositions of several operations as one kernel of this project's own.

It serves the patterns that a plan elects from the catalog, whose kernels live beside them, and
the batch normalization below.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend.coverage import Coverage
from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.precision import Precision
from topos.backend.status import Status
from topos.backend.task import BatchNormTask, Normalized, Task
from topos.payload import kernels
from topos.payload.kernels.canonical import canonical

__all__ = ["COVERAGE", "absence", "offer", "status"]

Array = npt.NDArray[Any]

_WIDE: Final = (Precision.F64, Precision.F32)
_SAME: Final = Coverage(
    _WIDE, Fidelity.COMPOSED, Dispatch.HOST, "in a fast run that of its products and sums"
)
_NEAR: Final = Coverage(
    _WIDE, Fidelity.ENVELOPE, Dispatch.HOST, "that of its products, sums and maps"
)
_APART: Final = Coverage(
    tuple(Precision), Fidelity.COMPOSED, Dispatch.HOST, "that of its operations, one by one"
)
COVERAGE: Final[dict[Formula, Coverage]] = {
    Formula.ATTENTION: _NEAR,
    Formula.BATCH_NORM_INFERENCE: _NEAR,
    Formula.BATCH_NORM_TRAINING: _SAME,
    Formula.ELEMENTWISE: _APART,
    Formula.REDUCE_WINDOW: _SAME,
    Formula.REDUCE_WINDOW_GRADIENT: _SAME,
    Formula.WINDOW_PRODUCT: _SAME,
    Formula.WINDOW_PRODUCT_BIAS_GRADIENT: _NEAR,
    Formula.WINDOW_PRODUCT_INPUT_GRADIENT: _SAME,
    Formula.WINDOW_PRODUCT_WEIGHTS_GRADIENT: _NEAR,
}


def absence() -> str | None:
    """Returns `None`: its kernels are part of the package."""
    return None


def status() -> Status:
    """Returns that it is ready."""
    return Status(True, "its kernels are part of the package")


def offer(formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
    """Returns the fused batch normalization; other patterns are elected by a plan."""
    match task:
        case BatchNormTask():
            return partial(_same_bits if exact else _normalized, task.epsilon)
    return Declined("a plan elects its patterns from the catalog")


@np.errstate(all="ignore")
def _same_bits(
    epsilon: float, values: Array, scale: Array, shift: Array, out: Array | None = None
) -> Normalized:
    """Computes each operation of the recorded formula in place of the one before."""
    total, number = kernels.reduction.sum, values.dtype.type
    terms = number(len(values))
    mean = total(values, (0,)) / terms
    result = np.subtract(values, mean, out=out)
    variance = total(result * result, (0,)) / terms
    result /= np.sqrt(variance + number(epsilon))
    result *= scale
    result += shift
    return Normalized(canonical(result), canonical(mean), canonical(variance))


@np.errstate(all="ignore")
def _normalized(
    epsilon: float, values: Array, scale: Array, shift: Array, out: Array | None = None
) -> Normalized:
    """Sums as numpy does and divides the scale, which is smaller, instead of the batch."""
    number = values.dtype.type
    terms = number(len(values))
    mean = np.add.reduce(values, axis=0) / terms
    result = np.subtract(values, mean, out=out)
    variance = np.add.reduce(result * result, axis=0) / terms
    result *= scale / np.sqrt(variance + number(epsilon))
    result += shift
    return Normalized(result, mean, variance)
