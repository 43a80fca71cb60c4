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
COVERAGE: Final[dict[Formula, Coverage]] = {
    formula: Coverage(_WIDE, Fidelity.COMPOSED, Dispatch.HOST)
    for formula in (
        Formula.ATTENTION,
        Formula.BATCH_NORM_INFERENCE,
        Formula.BATCH_NORM_TRAINING,
        Formula.REDUCE_WINDOW,
        Formula.REDUCE_WINDOW_GRADIENT,
        Formula.WINDOW_PRODUCT,
        Formula.WINDOW_PRODUCT_INPUT_GRADIENT,
        Formula.WINDOW_PRODUCT_WEIGHTS_GRADIENT,
    )
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
            total = kernels.reduction.sum if exact else _sum
            return partial(_batch_norm, total, task.epsilon)
    return Declined("a plan elects its patterns from the catalog")


def _sum(array: Array, axes: tuple[int, ...]) -> Array:
    total: Array = np.add.reduce(array, axis=axes)
    return total


@np.errstate(all="ignore")
def _batch_norm(
    total: Kernel,
    epsilon: float,
    values: Array,
    scale: Array,
    shift: Array,
    out: Array | None = None,
) -> Normalized:
    """Computes the recorded formula, each operation of it in place of the one before."""
    number = values.dtype.type
    terms = number(len(values))
    mean = total(values, (0,)) / terms
    result = np.subtract(values, mean, out=out)
    variance = total(result * result, (0,)) / terms
    result /= np.sqrt(variance + number(epsilon))
    result *= scale
    result += shift
    return Normalized(canonical(result), canonical(mean), canonical(variance))
