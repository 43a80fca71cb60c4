"""Batch normalization: inference, training and its gradient."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect._demands import below, holding
from topos.stablehlo.ir import OtherType, Tensor, Type, Typed
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import OfOperands
from topos.stablehlo.shapes import bounds_of, extents_agree, merged, of_bounds
from topos.stablehlo.typed_attributes import Attribute, Integer
from topos.stablehlo.types import FLOATS

_F32: Final = OtherType("f32")


class _Epsilon(Attribute[float]):
    """A floating-point number of f32, which must be there."""

    takes = "a number"
    example = "1e-05"

    def read(self, view: OpView) -> float:
        value = view.operation.attributes.get(self.key)
        number = value.value if isinstance(value, Typed) and value.type == _F32 else None
        if not isinstance(number, int | float):
            view.refuse(f"needs an f32 as {self.key}, got {value}")
        return float(number)

    def made(self, value: Any) -> Any:
        if isinstance(value, str):
            raise TypeError(f"{value!r} is no number")
        return Typed(float(value), _F32)


class _Normalization(Definition):
    """A normalization along all axes but one, that of the features.

    `whole` are the operands of the first one's shape, `single` those with a value for each feature.
    """

    epsilon = _Epsilon()
    feature_index = Integer(least=0)
    whole: ClassVar[tuple[int, ...]] = (0,)
    single: ClassVar[tuple[int, ...]] = ()
    rounding = OfOperands(units=2, of_largest=0.5)

    def infer(self) -> tuple[Type, ...]:
        operand = self.normalized()
        feature = self._feature(operand)
        return (operand, feature, feature)

    def normalized(self) -> Tensor:
        """Returns the operand; all operands have one floating-point element."""
        count = len(self.whole) + len(self.single)
        if len(self.operands) != count:
            self.refuse(f"needs {count} operands, got {len(self.operands)}")
        values = [holding(self, type, "an operand", FLOATS) for type in self.operands]
        operand = values[0]
        for value in values:
            if value.element != operand.element:
                self.refuse(f"needs operands of one element, got {operand} and {value}")
        merged(self, [values[index] for index in self.whole], "operands of every axis")
        for index in self.single:
            if len(values[index].shape) != 1:
                needs = "a value for each feature in one axis"
                self.refuse(f"needs {needs}, got {values[index]}")
        merged(self, [values[index] for index in self.single], "operands of one axis")
        _ = self.epsilon
        feature, given = self._feature(operand), values[self.single[0]]
        if not extents_agree(given.shape[0], feature.shape[0]):
            self.refuse(f"needs {feature} for the features, got {given}")
        return operand

    def _feature(self, operand: Tensor) -> Tensor:
        index = below(self, "feature_index", self.feature_index, len(operand.shape))
        bound = bounds_of(operand)[index]
        return of_bounds((operand.shape[index],), operand.element, (bound,))


@define("stablehlo.batch_norm_inference")
class BatchNormInference(_Normalization):
    """The operand normalized by the mean and the variance given, then scaled and offset."""

    single = (1, 2, 3, 4)
    operand_order = "operand, scale, offset, mean, variance"
    # Unlike the others it sums nothing.
    rounding = OfOperands(units=2, of_largest=0)

    def infer(self) -> tuple[Type, ...]:
        return (self.normalized(),)


@define("stablehlo.batch_norm_training")
class BatchNormTraining(_Normalization):
    """The operand normalized by its own mean and variance, then these two."""

    single = (1, 2)
    operand_order = "operand, scale, offset"


@define("stablehlo.batch_norm_grad")
class BatchNormGrad(_Normalization):
    """The gradients of a training's operand, scale and offset."""

    whole = (0, 4)
    single = (1, 2, 3)
    operand_order = "operand, scale, mean, variance, gradient of the output"
