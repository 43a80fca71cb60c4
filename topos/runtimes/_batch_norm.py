"""Batch normalization written out in simpler operations, for an interpreter that has none.

The formulas and their order are those of the StableHLO specification, sections
batch_norm_training, batch_norm_inference and batch_norm_grad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

__all__ = ["expand"]

# Operations and values of the bindings have no useful static type.
Value = Any


def expand(module: Any) -> None:
    """Replaces each batch normalization of `module`, inside the module's own context."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name in RULES:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    # The module must not change under the walk.
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            results = RULES[operation.name](_Normalization(operation))
        for old, new in zip(operation.results, results, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()


class _Normalization:
    """The pieces that the three formulas share, for one operation."""

    def __init__(self, operation: Any) -> None:
        self.operands = list(operation.operands)
        self.type = ir.RankedTensorType(self.operands[0].type)
        self.feature = ir.IntegerAttr(operation.attributes["feature_index"]).value
        self.others = [axis for axis in range(self.type.rank) if axis != self.feature]
        self.epsilon = self.filled(ir.FloatAttr(operation.attributes["epsilon"]).value)
        self.count = self.filled(float(prod(self.type.shape[axis] for axis in self.others)))

    def filled(self, number: float) -> Value:
        """Returns a constant of the operand's type that is `number` everywhere."""
        number_attribute = ir.FloatAttr.get(self.type.element_type, number)
        return stablehlo.constant(ir.DenseElementsAttr.get_splat(self.type, number_attribute))

    def spread(self, feature: Value) -> Value:
        """Returns a value of shape `[features]` broadcast to the operand's shape."""
        return stablehlo.broadcast_in_dim(self.type, feature, [self.feature])

    def sum(self, value: Value) -> Value:
        """Returns the sum of `value` over every axis but the features'."""
        element = self.type.element_type
        scalar = ir.RankedTensorType.get([], element)
        vector = ir.RankedTensorType.get([self.type.shape[self.feature]], element)
        zero = stablehlo.constant(
            ir.DenseElementsAttr.get_splat(scalar, ir.FloatAttr.get(element, 0.0))
        )
        axes = ir.DenseI64ArrayAttr.get(self.others)
        reduction = stablehlo.ReduceOp([vector], [value], [zero], axes)
        body = reduction.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(body):
            stablehlo.return_([stablehlo.add(*body.arguments)])
        return reduction.results[0]

    def mean(self, value: Value) -> Value:
        """Returns the mean of `value` over every axis but the features', broadcast back."""
        return stablehlo.divide(self.spread(self.sum(value)), self.count)

    def narrowed(self, value: Value) -> Value:
        """Returns a broadcast value as the feature vector it came from."""
        shape = self.type.shape
        limits = [shape[axis] if axis == self.feature else 1 for axis in range(len(shape))]
        first = stablehlo.slice(value, [0] * len(shape), limits, [1] * len(shape))
        vector = ir.RankedTensorType.get([shape[self.feature]], self.type.element_type)
        return stablehlo.reshape(vector, first)

    def deviation(self, variance: Value) -> Value:
        """Returns the standard deviation with epsilon inside the root, at the operand's shape."""
        return stablehlo.sqrt(stablehlo.add(variance, self.epsilon))

    def normalize(self, scale: Value, offset: Value, mean: Value, variance: Value) -> Value:
        """Returns the operand normalized; `mean` and `variance` have its shape already."""
        centered = stablehlo.subtract(self.operands[0], mean)
        normalized = stablehlo.divide(centered, self.deviation(variance))
        scaled = stablehlo.multiply(self.spread(scale), normalized)
        return stablehlo.add(scaled, self.spread(offset))


def _inference(form: _Normalization) -> list[Value]:
    _, scale, offset, mean, variance = form.operands
    return [form.normalize(scale, offset, form.spread(mean), form.spread(variance))]


def _training(form: _Normalization) -> list[Value]:
    operand, scale, offset = form.operands
    mean = form.mean(operand)
    centered = stablehlo.subtract(operand, mean)
    variance = form.mean(stablehlo.multiply(centered, centered))
    output = form.normalize(scale, offset, mean, variance)
    return [output, form.narrowed(mean), form.narrowed(variance)]


def _gradient(form: _Normalization) -> list[Value]:
    operand, scale, mean, variance, cotangent = form.operands
    spread_variance = form.spread(variance)
    deviation = form.deviation(spread_variance)
    centered = stablehlo.subtract(operand, form.spread(mean))
    whole = stablehlo.multiply(cotangent, form.count)
    sum_of_cotangents = form.spread(form.sum(cotangent))
    correlation = form.spread(form.sum(stablehlo.multiply(cotangent, centered)))
    correction = stablehlo.divide(
        stablehlo.multiply(correlation, centered), stablehlo.add(spread_variance, form.epsilon)
    )
    residual = stablehlo.subtract(stablehlo.subtract(whole, sum_of_cotangents), correction)
    factor = stablehlo.divide(stablehlo.divide(form.spread(scale), deviation), form.count)
    normalized = stablehlo.divide(centered, deviation)
    return [
        stablehlo.multiply(factor, residual),
        form.sum(stablehlo.multiply(cotangent, normalized)),
        form.sum(cotangent),
    ]


RULES: Final[Mapping[str, Callable[[_Normalization], list[Value]]]] = {
    "stablehlo.batch_norm_grad": _gradient,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_training": _training,
}
