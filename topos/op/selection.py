"""Selection by integer indices, and its adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from topos.errors import ElementError, ShapeError
from topos.op.operation import Array, Cotangents, Function, Operation, R, Reads
from topos.payload import Element, Shape, TensorType, kernels


class Gather(Operation, name="gather", arity=2, introduces_nan=False, writes=True):
    """The slices of the first operand along `axis` that the second names.

    The indices' shape takes the axis's place. An index outside is clamped to the nearest end.
    """

    __slots__ = ("axis",)
    _reads = Reads(operands=(1,))
    axis: int

    def infer_element(self, *operands: Element) -> Element:
        return _indexed(self.name, *operands)

    def infer_shape(self, *operands: Shape) -> Shape:
        shape, indices = operands
        if shape[self.axis] == 0:
            raise ShapeError(f"gather needs something to choose from, got {shape}")
        return (*shape[: self.axis], *indices, *shape[self.axis + 1 :])

    def compute(self, *operands: Array, out: Array | None = None) -> Array:
        return kernels.selection.gather(operands[0], operands[1], self.axis, out)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        extent = operands[0].shape[self.axis]
        return gradient.scatter(operands[1], self.axis, extent), None


class Scatter(Operation, name="scatter", arity=2, by="scatter"):
    """The adjoint of `Gather`: slices added where their indices say, onto +0.

    The indices' axes stand at `axis` of the first operand and become one axis of `extent`.
    Additions run in row-major order of the indices; an index outside is clamped.
    """

    __slots__ = ("axis", "extent")
    _reads = Reads(operands=(1,))
    axis: int
    extent: int

    def infer_element(self, *operands: Element) -> Element:
        element = _indexed(self.name, *operands)
        element.demand(self.name, self.computed_by)
        return element

    def infer_shape(self, *operands: Shape) -> Shape:
        updates, indices = operands
        end = self.axis + len(indices)
        if updates[self.axis : end] != indices or self.extent < 1:
            raise ShapeError(
                f"scatter needs updates with {indices} at axis {self.axis} and an extent of 1 or"
                f" more, got {updates} and extent {self.extent}"
            )
        return (*updates[: self.axis], self.extent, *updates[end:])

    def bound(self, function: Function, operands: tuple[TensorType, ...]) -> Function:
        return partial(function, axis=self.axis, extent=self.extent)

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        return gradient.gather(operands[1], self.axis), None


def _indexed(name: str, *operands: Element) -> Element:
    values, indices = operands
    if indices.dtype.kind != "i":
        raise ElementError(f"{name} needs integer indices, got {indices}")
    return values
