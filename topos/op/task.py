"""Tasks of operations: what of the vocabulary is offered to the backends."""

from __future__ import annotations

from topos.backend import Formula, GemmTask, MapTask, ReduceTask, Task
from topos.op.contraction import MatMul
from topos.op.map import Map
from topos.op.operation import Operation
from topos.op.reduction import MaxAlong, Sum, SumAlong
from topos.payload import TensorType

__all__ = ["task_of"]


def task_of(operation: Operation, *operands: TensorType) -> tuple[Formula, Task] | None:
    """Returns the task of `operation` over operands of these types, or `None` where it has none."""
    match operation:
        case MatMul():
            return Formula.GEMM, GemmTask(*operands)
        case Map(function=function):
            return Formula(function.value), MapTask(operands[0])
        case Sum():
            return Formula.SUM, ReduceTask(operands[0], tuple(range(len(operands[0].shape))))
        case SumAlong(axes=axes):
            return Formula.SUM, ReduceTask(operands[0], axes)
        case MaxAlong(axes=axes):
            return Formula.MAX, ReduceTask(operands[0], axes)
    return None
