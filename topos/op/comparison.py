"""Comparison, selection by a mask, and conversion between elements."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial

from topos.errors import ElementError, ShapeError
from topos.op.operation import Array, Cotangents, Function, Operation, R, Reads, checked
from topos.payload import Element, Shape, TensorType, bool_, conversion, kernels


class Direction(Enum):
    """How a `Compare` orders its operands; the value is StableHLO's name."""

    EQUAL = "EQ"
    NOT_EQUAL = "NE"
    LESS = "LT"
    LESS_EQUAL = "LE"
    GREATER = "GT"
    GREATER_EQUAL = "GE"


class Compare(Operation, name="compare", arity=2, introduces_nan=False, is_elementwise=True):
    """A mask of where the comparison holds; with a NaN only `!=` does."""

    __slots__ = ("direction",)
    direction: Direction

    def infer_element(self, *operands: Element) -> Element:
        super().infer_element(*operands)
        return bool_

    def function_name(self) -> str:
        return self.direction.name.lower()

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return None, None


class Select(
    Operation,
    name="select",
    arity=3,
    introduces_nan=False,
    is_elementwise=True,
    writes=True,
):
    """The second operand where the mask holds, else the third."""

    __slots__ = ()
    _reads = Reads(operands=(0,))

    def infer_element(self, *operands: Element) -> Element:
        mask, *branches = operands
        if mask is not bool_:
            raise ElementError(f"select needs a bool mask, got {mask}")
        return super().infer_element(*branches)

    def compute(self, *operands: Array, out: Array | None = None) -> Array:
        mask, on_true, on_false = operands
        return kernels.comparison.select(mask, on_true, on_false, out)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        mask, zero = operands[0], gradient.fill(0.0)
        return None, mask.select(gradient, zero), mask.select(zero, gradient)


class Convert(Operation, name="convert", arity=1, introduces_nan=False, is_elementwise=True):
    """The value in another element, rounded once.

    Floats become integers by truncation, saturating at the ends, with NaN giving zero; they
    become booleans by `!= 0`. i64 becomes i32 modulo 2**32.
    """

    __slots__ = ("element",)
    element: Element

    def infer(self, *operands: TensorType) -> TensorType:
        if len(operands) != 1:
            raise ShapeError(f"convert takes 1 operand, got {len(operands)}")
        if not isinstance(self.element, Element):
            raise ElementError(f"convert needs an Element such as f32, got {self.element!r}")
        conversion(operands[0].element, self.element)
        return TensorType(operands[0].shape, self.element)

    def infer_shape(self, *operands: Shape) -> Shape:
        return operands[0]

    def kernel(self, *operands: TensorType) -> Function:
        source = operands[0].element
        function = conversion(source, self.element)
        native = source.native and self.element.native
        return function if native else partial(checked, self, operands, function)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        element = operands[0].element
        return (gradient.convert(element) if element.differentiable else None,)
