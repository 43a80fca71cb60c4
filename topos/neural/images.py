"""Images: convolution as a matrix product of patches, and pooling of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from topos import Symbol, Tape, Value, mean
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, demand_rank, pair, spread
from topos.neural.init import Initializer
from topos.neural.module import Layer

Sizes = int | Sequence[int]


def conv2d(
    value: R, weights: R, bias: R | None = None, *, stride: Sizes = 1, padding: Sizes = 0
) -> R:
    """Returns the cross-correlation of images with a stack of filters, plus a number for each.

    `[batch, channels, height, width]` by weights `[filters, channels, rows, columns]` is
    `[batch, filters, (height + 2 padding - rows) // stride + 1, ...]`; the bias is `[filters]`.
    Padding is zeros on both sides. An element sums over channels, then rows, then columns.
    """
    demand_rank("conv2d", value, "batch, channels, height, width")
    demand_rank("conv2d", weights, "filters, channels, rows, columns")
    filters, channels, rows, columns = weights.shape
    demand_features("conv2d", value, channels, 1)
    steps = pair("conv2d", "a stride", stride)
    edges = (0, 0, *pair("conv2d", "padding", padding, least=0))
    padded = value.pad(edges, edges) if any(edges) else value
    windows = _unfolded("conv2d", padded, (rows, columns), steps)
    batch, _, height, width, _, _ = windows.shape
    length = channels * rows * columns
    patches = windows.permute((0, 2, 3, 1, 4, 5)).reshape((batch * height * width, length))
    product = patches @ weights.reshape((filters, length)).transpose()
    result = product.reshape((batch, height, width, filters)).permute((0, 3, 1, 2))
    if bias is None:
        return result
    demand_features("conv2d", bias, filters)
    return result + spread(bias, result.shape, 1)


class Conv2d(Layer):
    """A convolution layer over `[batch, channels, height, width]`; the formula is `conv2d`.

    Records `weights` `[filters, channels, rows, columns]` and `bias` `[filters]` in the tape's
    element; without `bias` there is none. `size` is of the window: one number, or rows and
    columns.
    """

    def __init__(
        self,
        tape: Tape,
        channels: int,
        filters: int,
        size: Sizes,
        *,
        weights: Initializer,
        bias: Initializer | None = init.zeros,
        stride: Sizes = 1,
        padding: Sizes = 0,
    ) -> None:
        outputs, inputs = count("Conv2d", "filters", filters), count("Conv2d", "channels", channels)
        shape = (outputs, inputs, *pair("Conv2d", "a size", size))
        self.stride = pair("Conv2d", "a stride", stride)
        self.padding = pair("Conv2d", "padding", padding, least=0)
        self.weights: Symbol = init.recorded(tape, "Conv2d", weights, shape)
        self.bias = None if bias is None else init.recorded(tape, "Conv2d", bias, (outputs,))

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the convolution of `value`."""
        bias = None if self.bias is None else tape.value(self.bias)
        weights = tape.value(self.weights)
        return conv2d(value, weights, bias, stride=self.stride, padding=self.padding)


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
    both = pair(name, "a size", size)
    return _unfolded(name, value, both, pair(name, "a stride", size if stride is None else stride))


def _unfolded(name: str, value: R, size: tuple[int, int], steps: tuple[int, int]) -> R:
    """Returns the windows of images, their rows and columns two last axes."""
    (rows, columns), extents = size, value.shape[2:]
    if rows > extents[0] or columns > extents[1]:
        raise ShapeError(f"{name} needs windows of at most {extents}, got {size}")
    return value.unfold(2, rows, steps[0]).unfold(3, columns, steps[1])


class _Pool(Layer):
    """A module without parameters that pools windows of `size`, one each `stride`."""

    def __init__(self, size: Sizes, stride: Sizes | None = None) -> None:
        name = type(self).__name__
        self.size = pair(name, "a size", size)
        self.stride = pair(name, "a stride", size if stride is None else stride)


class MaxPool(_Pool):
    """Maximum pooling as a module without parameters; the formula is `max_pool`."""

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the pooling of `value`."""
        return max_pool(value, self.size, self.stride)


class AveragePool(_Pool):
    """Mean pooling as a module without parameters; the formula is `average_pool`."""

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the pooling of `value`."""
        return average_pool(value, self.size, self.stride)


class Flatten(Layer):
    """The module that lays all axes but the first into one: `[batch, ...]` to `[batch, features]`.

    It stands between convolutions and affine layers.
    """

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the new layout of `value`, in row-major order."""
        if not value.shape:
            raise ShapeError(f"Flatten needs [batch, ...], got {value.shape}")
        return value.reshape((value.shape[0], math.prod(value.shape[1:])))
