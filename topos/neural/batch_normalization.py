"""Batch normalization: each feature by the statistics of its batch, or by running ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from topos import Element, Symbol, Tape, Tensor, Value, f32, mean
from topos.errors import ArgumentError, ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, positive, spread
from topos.neural.init import Initializer
from topos.neural.module import Visitor

__all__ = ["BatchNorm", "Normalization", "RunningStatistics", "batch_norm", "batch_norm_inference"]


class Normalization(NamedTuple):
    """A normalized batch, and the statistics `[features]` that it was normalized by."""

    output: Value
    mean: Value
    variance: Value


def batch_norm(value: R, scale: R, shift: R, *, epsilon: float = 1e-5) -> tuple[R, R, R]:
    """Returns the normalized batch, its mean and its biased variance, one number a feature each.

    The output is `scale * (x - mean) / sqrt(variance + epsilon) + shift` (Ioffe & Szegedy, 2015).
    The value is `[batch, features]` or `[batch, features, ...]`; every axis but 1 is averaged over.
    """
    _demand_batch("batch_norm", value, scale, shift)
    axes = [axis for axis in range(len(value.shape)) if axis != 1]
    average = mean(value, axes)
    centred = value - spread(average, value.shape, 1)
    variance = mean(centred * centred, axes)
    return _affine(centred, variance, scale, shift, epsilon), average, variance


def batch_norm_inference(
    value: R, average: R, variance: R, scale: R, shift: R, *, epsilon: float = 1e-5
) -> R:
    """Returns `value` normalized by given statistics, with the shapes of `batch_norm`."""
    _demand_batch("batch_norm_inference", value, average, variance, scale, shift)
    centred = value - spread(average, value.shape, 1)
    return _affine(centred, variance, scale, shift, epsilon)


def _affine(centred: R, variance: R, scale: R, shift: R, epsilon: float) -> R:
    deviation = (variance + epsilon).sqrt()
    normalized = centred / spread(deviation, centred.shape, 1)
    return spread(scale, centred.shape, 1) * normalized + spread(shift, centred.shape, 1)


def _demand_batch(name: str, value: R, *features: R) -> None:
    if len(value.shape) < 2:
        raise ShapeError(f"{name} needs [batch, features, ...], got {value.shape}")
    for each in features:
        if len(each.shape) != 1:
            raise ShapeError(f"{name} needs a number for each feature, got {each.shape}")
        demand_features(name, value, each.shape[0], 1)


@dataclass(frozen=True, slots=True)
class RunningStatistics:
    """A mean and a variance `[features]` that the training loop averages over its batches.

    They are the caller's, as parameters are: a step returns new ones, inference is fed them.
    """

    mean: Tensor
    variance: Tensor

    @classmethod
    def initial(cls, features: int, element: Element = f32) -> RunningStatistics:
        """Returns the statistics before the first batch: a mean of zero, a variance of one."""
        shape = (count("RunningStatistics", "features", features),)
        return cls(init.zeros(shape, element), init.ones(shape, element))

    def updated(self, mean: Tensor, variance: Tensor, decay: float = 0.9) -> RunningStatistics:
        """Returns `decay * old + (1 - decay) * new` of both, the biased variance as it is."""
        if not 0.0 <= decay <= 1.0:
            raise ArgumentError(f"updated needs a decay of 0.0 to 1.0, got {decay!r}")
        share = 1.0 - decay
        return RunningStatistics(
            decay * self.mean + share * mean, decay * self.variance + share * variance
        )


class BatchNorm:
    """A batch normalization over `[batch, features, ...]`; records `scale` and `shift`.

    `express` is the training form: it returns a `Normalization`, whose statistics the loop reads
    and averages by `RunningStatistics`. `inference` takes those as values.
    """

    __slots__ = ("epsilon", "scale", "shift")

    def __init__(
        self,
        tape: Tape,
        features: int,
        *,
        epsilon: float = 1e-5,
        scale: Initializer = init.ones,
        shift: Initializer = init.zeros,
    ) -> None:
        shape = (count("BatchNorm", "features", features),)
        self.epsilon = positive("BatchNorm", "an epsilon", epsilon)
        self.scale: Symbol = init.recorded(tape, "BatchNorm", scale, shape)
        self.shift: Symbol = init.recorded(tape, "BatchNorm", shift, shape)

    def express(self, tape: Tape, value: Value) -> Normalization:
        """Records `value` normalized by the statistics of its own batch."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return Normalization(*batch_norm(value, scale, shift, epsilon=self.epsilon))

    def inference(self, tape: Tape, value: Value, mean: Value, variance: Value) -> Value:
        """Records `value` normalized by `mean` and `variance`, inputs as a rule."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return batch_norm_inference(value, mean, variance, scale, shift, epsilon=self.epsilon)

    def visit(self, visitor: Visitor) -> None:
        """Shows `scale`, then `shift`."""
        visitor.parameter("scale", self.scale)
        visitor.parameter("shift", self.shift)
