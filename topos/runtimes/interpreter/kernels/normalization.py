"""Batch normalization: training, inference and gradient by the formulas of the specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from topos.payload.kernels import arithmetic, maps, reduction
from topos.payload.kernels.conversion import promoted
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import normalization as dialect
from topos.stablehlo.types import dtype_of, extents


def _built(context: BuildContext[Any]) -> Kernel:
    operand = context.operands[0]
    dtype, shape = dtype_of(operand), extents(operand)
    feature = context.op.feature_index
    others = tuple(axis for axis in range(len(shape)) if axis != feature)
    wide = dtype if context.exact else promoted(np.empty(0, dtype)).dtype
    count = math.prod(shape[axis] for axis in others)
    return _Normalization(
        formula=_FORMULAS[type(context.op)],
        step=arithmetic if context.exact else np,
        root=maps.sqrt if context.exact else np.sqrt,
        total=reduction.sum if context.exact else np.sum,
        others=others,
        spread=tuple(extent if axis == feature else 1 for axis, extent in enumerate(shape)),
        epsilon=np.asarray(context.op.epsilon, np.float32).astype(wide),
        count=np.asarray(float(count)).astype(wide),
        compute=wide,
        result=dtype,
    )


@dataclass(frozen=True, slots=True)
class _Normalization:
    """A formula over an operand whose axes but the features' are `others`.

    `step` has the four operations. Exact, every step is the oracle's, a sum its tree of halves, and
    rounds to the element.

    `spread` is the shape in which a value of each feature broadcasts to the operand's.
    """

    formula: Callable[..., tuple[Array, ...]]
    step: Any
    root: Callable[[Array], Array]
    total: Callable[[Array, tuple[int, ...]], Array]
    others: tuple[int, ...]
    spread: tuple[int, ...]
    epsilon: Array
    count: Array
    compute: np.dtype[Any]
    result: np.dtype[Any]

    def __call__(self, *operands: Array) -> Any:
        values = [value.astype(self.compute, copy=False) for value in operands]
        results = tuple([converted(each, self.result) for each in self.formula(self, *values)])
        return results if len(results) > 1 else results[0]

    def wide(self, feature: Array) -> Array:
        """Returns a value of each feature in a shape that broadcasts to the operand's."""
        return feature.reshape(self.spread)

    def sum(self, value: Array) -> Array:
        """Returns the sum of each feature."""
        return self.total(value, self.others)

    def variance(self, variance: Array) -> Array:
        """Returns a variance kept above zero."""
        kept: Array = self.step.add(self.wide(variance), self.epsilon)
        return kept


def _inference(form: _Normalization, *values: Array) -> tuple[Array, ...]:
    step, (operand, scale, offset, mean, variance) = form.step, values
    centered = step.subtract(operand, form.wide(mean))
    normalized = step.divide(centered, form.root(form.variance(variance)))
    return (step.add(step.multiply(form.wide(scale), normalized), form.wide(offset)),)


def _training(
    form: _Normalization, operand: Array, scale: Array, offset: Array
) -> tuple[Array, ...]:
    step = form.step
    mean = step.divide(form.sum(operand), form.count)
    centered = step.subtract(operand, form.wide(mean))
    variance = step.divide(form.sum(step.multiply(centered, centered)), form.count)
    (output,) = _inference(form, operand, scale, offset, mean, variance)
    return output, mean, variance


def _gradient(form: _Normalization, *values: Array) -> tuple[Array, ...]:
    step, (operand, scale, mean, variance, cotangent) = form.step, values
    kept = form.variance(variance)
    deviation = form.root(kept)
    centered = step.subtract(operand, form.wide(mean))
    total = form.sum(cotangent)
    correlation = form.wide(form.sum(step.multiply(cotangent, centered)))
    residual = step.subtract(step.multiply(cotangent, form.count), form.wide(total))
    residual = step.subtract(residual, step.divide(step.multiply(correlation, centered), kept))
    factor = step.divide(step.divide(form.wide(scale), deviation), form.count)
    normalized = step.divide(centered, deviation)
    return (
        step.multiply(factor, residual),
        form.sum(step.multiply(cotangent, normalized)),
        total,
    )


_FORMULAS: Final[Mapping[type[Definition], Callable[..., tuple[Array, ...]]]] = {
    dialect.BatchNormGrad: _gradient,
    dialect.BatchNormInference: _inference,
    dialect.BatchNormTraining: _training,
}
BUILDERS: Final[Builders] = dict.fromkeys(_FORMULAS, _built)
