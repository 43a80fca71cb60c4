"""Tasks: one piece of work with static shapes, offered along a chain of backends."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topos.backend.formula import MAPS, Formula, demand_formula
from topos.backend.precision import Precision
from topos.errors import ArgumentError
from topos.payload import Element, TensorType

__all__ = [
    "BatchNormTask",
    "GemmTask",
    "MapTask",
    "Normalized",
    "ReduceTask",
    "Task",
    "demand_task",
    "precision_of",
]


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


class Normalized(NamedTuple):
    """What a batch normalization computes: the output, and the mean and biased variance."""

    output: npt.NDArray[np.generic]
    mean: npt.NDArray[np.generic]
    variance: npt.NDArray[np.generic]


Task = GemmTask | MapTask | ReduceTask | BatchNormTask


def demand_task(formula: Formula, task: Task) -> None:
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
    if not fits:
        raise ArgumentError(f"{formula.value} takes a task of its own, got {type(task).__name__}")


def precision_of(task: Task) -> Precision | None:
    """Returns the precision that `task` is computed at, or `None` where no backend has it."""
    return Precision.of(task.element.dtype)
