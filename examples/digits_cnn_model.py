"""The convolutional classifier of `digits_cnn.py`: a user's own modules over the package's.

Training and inference are two expressions of the same parameters: the first normalizes by the
statistics of its batch and answers them, the second is given statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topos import (
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    Initializer,
    Linear,
    MaxPool,
    Sequential,
    Tape,
    Value,
    Visitor,
    init,
    relu,
)

__all__ = ["CLASSES", "FILTERS", "SIDE", "Classifier"]

SIDE: Final = 8
CLASSES: Final = 10
# Padding keeps the edge of a digit in the first convolution, the second takes it off, and the
# pooling halves what is left.
FILTERS: Final = (8, 16)
FEATURES: Final = FILTERS[1] * ((SIDE - 2) // 2) ** 2
DROPPED: Final = 0.25

Statistics = tuple[Value, Value]
"""A mean and a variance for each filter of a block."""


class Block:
    """A convolution, a batch normalization and a rectifier."""

    def __init__(
        self, tape: Tape, channels: int, filters: int, weights: Initializer, padding: int
    ) -> None:
        # The normalization's shift serves as the bias.
        self.convolution = Conv2d(
            tape, channels, filters, 3, weights=weights, bias=None, padding=padding
        )
        self.norm = BatchNorm(tape, filters)

    def express(self, tape: Tape, value: Value) -> tuple[Value, Statistics]:
        """Records the training form; returns its value and the batch's statistics."""
        normal = self.norm.express(tape, self.convolution.express(tape, value))
        return relu(normal.output), (normal.mean, normal.variance)

    def inference(self, tape: Tape, value: Value, statistics: Statistics) -> Value:
        """Records the block by the given statistics."""
        convolved = self.convolution.express(tape, value)
        return relu(self.norm.inference(tape, convolved, *statistics))

    def visit(self, visitor: Visitor) -> None:
        """Visits the convolution, then the normalization."""
        visitor.child("convolution", self.convolution)
        visitor.child("norm", self.norm)


class Classifier:
    """Two blocks, a pooling, dropout and an affine layer: `[batch, 1, 8, 8]` to `[batch, 10]`."""

    def __init__(self, tape: Tape, batch: int, seed: int) -> None:
        weights = init.kaiming(seed)
        inner, outer = FILTERS
        self.blocks = (
            Block(tape, 1, inner, weights.split(0), padding=1),
            Block(tape, inner, outer, weights.split(1), padding=0),
        )
        self.pooling = Sequential(MaxPool(2), Flatten())
        self.dropout = Dropout(tape, [batch, FEATURES], DROPPED, name="mask")
        self.scores = Linear(tape, FEATURES, CLASSES, weights=weights.split(2))

    def express(self, tape: Tape, images: Value) -> tuple[Value, list[Statistics]]:
        """Records the training form; returns the scores and the statistics of each block."""
        value = images
        statistics: list[Statistics] = []
        for block in self.blocks:
            value, own = block.express(tape, value)
            statistics.append(own)
        features = self.pooling.express(tape, value)
        return self.scores.express(tape, self.dropout.express(tape, features)), statistics

    def inference(self, tape: Tape, images: Value, statistics: Sequence[Statistics]) -> Value:
        """Records the scores by the given statistics, nothing dropped."""
        value = images
        for block, own in zip(self.blocks, statistics, strict=True):
            value = block.inference(tape, value, own)
        return self.scores.express(tape, self.pooling.express(tape, value))

    def visit(self, visitor: Visitor) -> None:
        """Visits the blocks, then the scores; the rest has no parameters."""
        visitor.children("blocks", self.blocks)
        visitor.child("scores", self.scores)
