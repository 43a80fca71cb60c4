"""The fused backend: compositions of several operations as one kernel of this project's own.

A plan elects its patterns from the catalog, whose kernels live beside them. A batch normalization
of rows is a task too, with the kernel below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from topos.backend.formula import Formula, Precision
from topos.backend.task import BatchNormTask, Normalized, Task
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Kernel, Row, Status
from topos.op import Array


def absence() -> str | None:
    """Returns `None`: its kernels are part of the package."""
    return None


def status() -> Status:
    """Returns that it is ready."""
    return Status(True, "its kernels are part of the package")


@dataclass(frozen=True, slots=True)
class Normalization:
    """A normalization over all axes but `feature`, by the batch's own mean and biased variance."""

    feature: int
    epsilon: float

    def __call__(
        self, values: Array, scale: Array, shift: Array, *, out: Array | None = None
    ) -> Normalized:
        axes = tuple(axis for axis in range(values.ndim) if axis != self.feature)
        count = values.dtype.type(values.size // max(1, values.shape[self.feature]))
        mean = np.add.reduce(values, axis=axes) / count
        result = np.subtract(values, self._wide(mean, values), out=out)
        variance = np.add.reduce(np.multiply(result, result), axis=axes) / count
        return Normalized(self._affine(result, variance, scale, shift), mean, variance)

    def by(
        self,
        values: Array,
        scale: Array,
        shift: Array,
        mean: Array,
        variance: Array,
        *,
        out: Array | None = None,
    ) -> Array:
        """Returns the normalization by a given mean and variance."""
        centred = np.subtract(values, self._wide(mean, values), out=out)
        return self._affine(centred, variance, scale, shift)

    def _affine(self, centred: Array, variance: Array, scale: Array, shift: Array) -> Array:
        """Returns `centred` scaled and shifted in place; the scale is smaller, and divided."""
        factor = scale / np.sqrt(variance + centred.dtype.type(self.epsilon))
        np.multiply(centred, self._wide(factor, centred), out=centred)
        return np.add(centred, self._wide(shift, centred), out=centred)

    def _wide(self, feature: Array, values: Array) -> Array:
        """Returns a number for each feature in a shape that broadcasts."""
        after = values.ndim - self.feature - 1
        return feature.reshape((1,) * self.feature + (-1,) + (1,) * after)


def _batch_norm(task: BatchNormTask) -> Kernel:
    return Kernel(Normalization(1, task.epsilon), writes=True)


def _elected(task: Task) -> Declined:
    return Declined("a plan elects its patterns from the catalog")


def _host(fidelity: Fidelity, bound: str, *precisions: Precision) -> Coverage:
    return Coverage(precisions, fidelity, Dispatch.HOST, bound)


_WIDE: Final = (Precision.F64, Precision.F32)
_SAME: Final = Row(
    _host(Fidelity.COMPOSED, "in a fast run that of its products and sums", *_WIDE), _elected
)
_NEAR: Final = Row(
    _host(Fidelity.ENVELOPE, "that of its products, sums and maps", *_WIDE), _elected
)
_EACH: Final = Row(
    _host(Fidelity.COMPOSED, "that of its operations, one by one", *Precision), _elected
)
TABLE: Final = {
    Formula.ATTENTION: _NEAR,
    Formula.BATCH_NORM_INFERENCE: _NEAR,
    Formula.BATCH_NORM_TRAINING: Row(_NEAR.coverage, _batch_norm),
    Formula.ELEMENTWISE: _EACH,
    Formula.REDUCE_WINDOW: _SAME,
    Formula.REDUCE_WINDOW_GRADIENT: _SAME,
    Formula.ROW_UPDATE: _EACH,
    Formula.WINDOW_PRODUCT: _SAME,
    Formula.WINDOW_PRODUCT_BIAS_GRADIENT: _NEAR,
    Formula.WINDOW_PRODUCT_INPUT_GRADIENT: _SAME,
    Formula.WINDOW_PRODUCT_WEIGHTS_GRADIENT: _NEAR,
}
