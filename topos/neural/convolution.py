"""Convolution in two dimensions, recorded as a matrix product of patches."""

from __future__ import annotations

from collections.abc import Sequence

from topos import Symbol, Tape, Value
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, demand_rank, pair, spread
from topos.neural.init import Initializer
from topos.neural.module import Visitor

__all__ = ["Conv2d", "conv2d"]

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
    if rows > padded.shape[2] or columns > padded.shape[3]:
        raise ShapeError(
            f"conv2d needs windows of at most {padded.shape[2:]}, got {(rows, columns)}"
        )
    windows = padded.unfold(2, rows, steps[0]).unfold(3, columns, steps[1])
    batch, _, height, width, _, _ = windows.shape
    length = channels * rows * columns
    patches = windows.permute((0, 2, 3, 1, 4, 5)).reshape((batch * height * width, length))
    product = patches @ weights.reshape((filters, length)).transpose()
    result = product.reshape((batch, height, width, filters)).permute((0, 3, 1, 2))
    if bias is None:
        return result
    demand_features("conv2d", bias, filters)
    return result + spread(bias, result.shape, 1)


class Conv2d:
    """A convolution layer over `[batch, channels, height, width]`; the formula is `conv2d`.

    Records `weights` `[filters, channels, rows, columns]` and `bias` `[filters]` in the tape's
    element; without `bias` there is none. `size` is of the window: one number, or rows and
    columns.
    """

    __slots__ = ("bias", "padding", "stride", "weights")

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
        self.bias: Symbol | None = None
        if bias is not None:
            self.bias = init.recorded(tape, "Conv2d", bias, (outputs,))

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the convolution of `value`."""
        bias = None if self.bias is None else tape.value(self.bias)
        weights = tape.value(self.weights)
        return conv2d(value, weights, bias, stride=self.stride, padding=self.padding)

    def visit(self, visitor: Visitor) -> None:
        """Shows `weights`, then `bias`."""
        visitor.parameter("weights", self.weights)
        if self.bias is not None:
            visitor.parameter("bias", self.bias)
