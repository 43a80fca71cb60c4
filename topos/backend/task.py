"""Tasks: one piece of work with static shapes, offered along a chain of backends."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from topos.backend.formula import MAPS, Formula, Precision, demand_formula
from topos.errors import ArgumentError
from topos.op import Array, Convert, Map, MatMul, MaxAlong, Operation, Sum, SumAlong
from topos.payload import Element, TensorType


class GemmTask(NamedTuple):
    """One product `[..., m, k] @ [..., k, n]`, leading axes equal.

    Its kernel takes the two arrays and `out`.
    """

    left: TensorType
    right: TensorType

    @property
    def element(self) -> Element:
        """The element of both operands and of the result."""
        return self.left.element

    @property
    def flops(self) -> int:
        """Two for each term of each sum."""
        return 2 * math.prod(self.left.shape) * self.right.shape[-1]


class MapTask(NamedTuple):
    """One function of one variable over a whole array; its kernel takes the array and `out`."""

    operand: TensorType

    @property
    def element(self) -> Element:
        """The element of the operand and of the result."""
        return self.operand.element

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.operand.shape)


class ReduceTask(NamedTuple):
    """One reduction along ascending `axes`, which the result lacks.

    Its kernel takes the array and `out`.
    """

    operand: TensorType
    axes: tuple[int, ...]

    @property
    def element(self) -> Element:
        """The element of the operand and of the result."""
        return self.operand.element

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.operand.shape)


class BatchNormTask(NamedTuple):
    """One batch normalization of `[batch, features]` by the statistics of the batch.

    Its kernel takes the array, the scale and the shift of each feature, and `out` for the output;
    it returns `Normalized` (Ioffe & Szegedy, 2015).
    """

    operand: TensorType
    epsilon: float

    @property
    def element(self) -> Element:
        """The element of every operand and result."""
        return self.operand.element


class OperationTask(NamedTuple):
    """Any other operation that has a formula; its kernel takes the operands' arrays and `out`."""

    operation: Operation
    operands: tuple[TensorType, ...]

    @property
    def element(self) -> Element:
        """The element of the first operand."""
        return self.operands[0].element


class Normalized(NamedTuple):
    """What a batch normalization computes: the output, and the mean and biased variance."""

    output: Array
    mean: Array
    variance: Array


Task = GemmTask | MapTask | ReduceTask | BatchNormTask | OperationTask
_NAMED: Final = {formula.value: formula for formula in Formula}


def task_of(operation: Operation, operands: tuple[TensorType, ...]) -> tuple[Formula, Task] | None:
    """Returns the task of `operation` over operands of these types, or `None` where it has none."""
    match operation:
        case MatMul():
            return Formula.GEMM, GemmTask(*operands)
        case Map(function=function):
            return _NAMED[function.value], MapTask(*operands)
        case Sum():
            return Formula.SUM, ReduceTask(operands[0], tuple(range(len(operands[0].shape))))
        case SumAlong(axes=axes):
            return Formula.SUM, ReduceTask(operands[0], axes)
        case MaxAlong(axes=axes):
            return Formula.MAX, ReduceTask(operands[0], axes)
    formula = _NAMED.get(operation.name)
    return None if formula is None else (formula, OperationTask(operation, operands))


def demand_task(formula: Formula, task: Any) -> None:
    """Raises `ArgumentError` where `task` is not one of `formula`, which is a `Formula`."""
    demand_formula(formula)
    match task:
        case GemmTask():
            fits = formula is Formula.GEMM
        case MapTask():
            fits = formula in MAPS
        case ReduceTask():
            fits = formula in (Formula.SUM, Formula.MAX)
        case BatchNormTask():
            fits = formula is Formula.BATCH_NORM_TRAINING
        case OperationTask(operation):
            fits = formula.value == operation.name
        case _:
            fits = False
    if not fits:
        raise ArgumentError(f"{formula.value} takes a task of its own, got {type(task).__name__}")


def precision_of(task: Task) -> Precision | None:
    """Returns the precision that `task` is computed at, or `None` where no backend has it.

    An element with an arithmetic of its own has none, whatever it is stored as.
    """
    elements = [task.element]
    if isinstance(task, OperationTask) and isinstance(task.operation, Convert):
        elements.append(task.operation.element)
    native = all(element.native for element in elements)
    return Precision.of(task.element.dtype) if native else None
