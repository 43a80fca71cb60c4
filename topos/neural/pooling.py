"""Pooling: the maximum or the mean of windows over images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from topos import Tape, Value, mean
from topos.errors import ShapeError
from topos.neural.formula import R, demand_rank, pair
from topos.neural.module import Visitor

__all__ = ["AveragePool", "Flatten", "MaxPool", "average_pool", "max_pool"]

Sizes = int | Sequence[int]


def max_pool(value: R, size: Sizes, stride: Sizes | None = None) -> R:
    """Returns the largest element of each window, whose gradient goes to the first that has it.

    `[batch, channels, height, width]` is `[batch, channels, (height - rows) // stride + 1, ...]`;
    by default the stride is the size, and windows touch. What fills no window is left out.
    """
    return _windows("max_pool", value, size, stride).max((4, 5))


def average_pool(value: R, size: Sizes, stride: Sizes | None = None) -> R:
    """Returns the mean of each window, with the shapes of `max_pool`."""
    return mean(_windows("average_pool", value, size, stride), (4, 5))


def _windows(name: str, value: R, size: Sizes, stride: Sizes | None) -> R:
    demand_rank(name, value, "batch, channels, height, width")
    rows, columns = pair(name, "a size", size)
    steps = pair(name, "a stride", size if stride is None else stride)
    if rows > value.shape[2] or columns > value.shape[3]:
        raise ShapeError(f"{name} needs windows of at most {value.shape[2:]}, got {rows, columns}")
    return value.unfold(2, rows, steps[0]).unfold(3, columns, steps[1])


class MaxPool:
    """Maximum pooling as a module without parameters; the formula is `max_pool`."""

    __slots__ = ("size", "stride")

    def __init__(self, size: Sizes, stride: Sizes | None = None) -> None:
        self.size = pair("MaxPool", "a size", size)
        self.stride = pair("MaxPool", "a stride", size if stride is None else stride)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the pooling of `value`."""
        return max_pool(value, self.size, self.stride)

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: pooling has no parameters."""


class AveragePool:
    """Mean pooling as a module without parameters; the formula is `average_pool`."""

    __slots__ = ("size", "stride")

    def __init__(self, size: Sizes, stride: Sizes | None = None) -> None:
        self.size = pair("AveragePool", "a size", size)
        self.stride = pair("AveragePool", "a stride", size if stride is None else stride)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the pooling of `value`."""
        return average_pool(value, self.size, self.stride)

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: pooling has no parameters."""


class Flatten:
    """The module that lays all axes but the first into one: `[batch, ...]` to `[batch, features]`.

    It stands between convolutions and affine layers.
    """

    __slots__ = ()

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the new layout of `value`, in row-major order."""
        if not value.shape:
            raise ShapeError(f"Flatten needs [batch, ...], got {value.shape}")
        return value.reshape((value.shape[0], math.prod(value.shape[1:])))

    def visit(self, visitor: Visitor) -> None:
        """Shows nothing: a layout has no parameters."""
