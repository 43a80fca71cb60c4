"""The end of every chain: the oracle's kernels in the signature of a backend's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from topos.backend.formula import Formula
from topos.backend.offer import Kernel
from topos.backend.task import (
    BatchNormTask,
    GemmTask,
    MapTask,
    Normalized,
    ReduceTask,
    Task,
)
from topos.payload import kernels
from topos.payload.storage import literal

__all__ = ["reference", "written"]

Array = npt.NDArray[Any]


def reference(formula: Formula, task: Task) -> Kernel:
    """Returns the oracle's kernel for a task of `formula`."""
    match task:
        case GemmTask():
            return partial(written, kernels.product.matmul)
        case MapTask():
            return partial(written, cast(Kernel, getattr(kernels.maps, formula.value)))
        case ReduceTask(axes=axes):
            kernel = kernels.reduction.sum if formula is Formula.SUM else kernels.reduction.maximum
            return partial(written, partial(kernel, axes=axes))
        case BatchNormTask():
            return partial(_batch_norm, task)


@np.errstate(all="ignore")
def _batch_norm(
    task: BatchNormTask, values: Array, scale: Array, shift: Array, out: Array | None = None
) -> Normalized:
    """Computes the recorded formula, `scale * ((x - mean) / sqrt(variance + epsilon)) + shift`."""
    arithmetic, total = kernels.arithmetic, kernels.reduction.sum
    terms, epsilon = (
        literal(float(number), task.element) for number in (len(values), task.epsilon)
    )
    mean = arithmetic.divide(total(values, (0,)), terms)
    centred = arithmetic.subtract(values, mean)
    variance = arithmetic.divide(total(arithmetic.multiply(centred, centred), (0,)), terms)
    deviation = kernels.maps.sqrt(arithmetic.add(variance, epsilon))
    scaled = arithmetic.multiply(scale, arithmetic.divide(centred, deviation))
    return Normalized(written(arithmetic.add, scaled, shift, out=out), mean, variance)


def written(kernel: Callable[..., Array], *operands: Array, out: Array | None = None) -> Array:
    """Returns what `kernel` does, in `out` where that is given."""
    result = kernel(*operands)
    if out is None:
        return result
    np.copyto(out, result)
    return out
