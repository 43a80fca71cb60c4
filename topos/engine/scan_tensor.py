"""The reading that a plan's reverse scan computes with: tensors that ask who serves each task."""

from __future__ import annotations

from typing import Self

import numpy as np

from topos.backend import computed, count
from topos.engine.choices import Choice, Choices
from topos.op import Array, Operation
from topos.payload import Element, Shape, kernels
from topos.payload.kernels.clean import has_nan
from topos.payload.storage import iota
from topos.reading import Number, Tensor


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
        types = tuple([operand.type for operand in operands])
        choice = choices.of(operation, types)
        arrays = [operand._array for operand in operands]
        if choices.exact:
            array = _exactly(choice, arrays)
            if array is None:
                array = computed(operation, arrays, types)
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


def _exactly(choice: Choice, arrays: list[Array]) -> Array | None:
    """Returns the oracle's bits by the kernel of a task, `None` where it is not known to have them.

    It has them where neither an operand nor the result holds a NaN.
    """
    if choice.service is None or not kernels.subnormals.reports_invalid_operations():
        return None
    if any(map(has_nan, arrays)):
        return None
    try:
        with kernels.clean.raising():
            return _called(choice, arrays)
    except FloatingPointError:
        return None


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
