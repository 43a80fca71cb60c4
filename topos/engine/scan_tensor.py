"""The reading that a plan's reverse scan computes with: tensors that ask who serves each task."""

from __future__ import annotations

from typing import Self

import numpy as np

from topos.backend import count
from topos.engine.choices import Choice, Choices
from topos.op import Array, Operation
from topos.payload import Element, Shape, kernels
from topos.payload.kernels.clean import has_nan
from topos.payload.storage import iota
from topos.reading import Number, Tensor

__all__ = ["ScanTensor"]


class ScanTensor(Tensor):
    """A tensor that computes each operation as its plan would, node by node, and counts its tasks.

    An exact one takes a task's kernel where no operand and no result holds a NaN; everything else
    is the oracle's own.
    """

    __slots__ = ("_choices",)

    _choices: Choices

    @classmethod
    def within(cls, array: Array, element: Element, choices: Choices) -> Self:
        """Returns a tensor that shares `array` and computes as `choices` say."""
        tensor = cls.wrap(array, element)
        tensor._choices = choices
        return tensor

    def express(self, operation: Operation, *operands: Self) -> Self:
        choices = self._choices
        choice = choices.of(operation, tuple([operand.type for operand in operands]))
        arrays = [operand._array for operand in operands]
        if choices.exact:
            array = _exactly(operation, choice, arrays)
        else:
            with np.errstate(all="ignore"):
                array = _called(choice, arrays)
        return self.within(array, choice.result.element, choices)

    def fill(self, number: Number) -> Self:
        filled = super().fill(number)
        filled._choices = self._choices
        return filled

    def iota(self, shape: Shape) -> Self:
        counted = Tensor(iota(shape))
        return self.within(counted.numpy(), counted.element, self._choices)


def _exactly(operation: Operation, choice: Choice, arrays: list[Array]) -> Array:
    """Returns the oracle's bits, by the kernel of a task where that is known to have them."""
    if choice.service is None:
        return operation.compute(*arrays)
    if kernels.subnormals.reports_invalid_operations() and not any(map(has_nan, arrays)):
        try:
            with kernels.clean.raising():
                return _called(choice, arrays)
        except FloatingPointError:
            pass
    count([choice.service._replace(backend=None)])
    return operation.compute(*arrays)


def _called(choice: Choice, arrays: list[Array]) -> Array:
    kernel, result = choice.kernel, choice.result
    if kernel.writes:
        array = np.empty(result.shape, result.element.dtype)
        kernel.function(*arrays, out=array)
    else:
        array = kernel.function(*arrays)
    if choice.service is not None:
        count([choice.service])
    return array
