"""The end of every chain: the oracle's own kernels, and what an exact run makes of them."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from topos.backend.formula import Formula
from topos.backend.task import (
    BatchNormTask,
    GemmTask,
    MapTask,
    Normalized,
    OperationTask,
    ReduceTask,
    Task,
)
from topos.backend.terms import Kernel
from topos.op import Array, Operation
from topos.payload import kernels
from topos.payload.storage import literal

CLEAN: Final = {
    Formula.ADD: np.add,
    Formula.SUB: np.subtract,
    Formula.MUL: np.multiply,
    Formula.DIV: np.divide,
    Formula.NEG: np.negative,
    Formula.SQRT: np.sqrt,
}
"""What the oracle's kernels of float32 and float64 are where no operand is a NaN: numpy's, which
report one that arises by the hardware's flag."""


def reference(formula: Formula, task: Task) -> Kernel:
    """Returns the oracle's kernel for a task of `formula`."""
    match task:
        case GemmTask():
            return Kernel(kernels.product.matmul)
        case MapTask():
            return Kernel(getattr(kernels.maps, formula.value))
        case ReduceTask(axes=axes):
            kernel = kernels.reduction.sum if formula is Formula.SUM else kernels.reduction.maximum
            return Kernel(partial(kernel, axes=axes))
        case BatchNormTask():
            return Kernel(partial(_batch_norm, task), writes=True)
        case OperationTask(operation):
            return own_kernel(operation)


def own_kernel(operation: Operation) -> Kernel:
    """Returns the value rule of `operation` as a kernel."""
    writes = operation.writes
    return Kernel(operation.compute, writes, broadcasts=writes and operation.is_elementwise)


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
    return Normalized(Kernel(arithmetic.add)(scaled, shift, out=out), mean, variance)
