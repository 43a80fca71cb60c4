"""Normalization: each sample by its own features, or each feature by its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from topos import Element, Symbol, Tape, Tensor, Value, f32, mean
from topos.errors import ArgumentError, ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, in_element, positive, spread, wide
from topos.neural.init import Initializer
from topos.neural.module import Layer


def layer_norm(value: R, scale: R, shift: R, *, epsilon: float = 1e-5) -> R:
    """Returns `scale * (x - mean) / sqrt(variance + epsilon) + shift` over the last axis.

    `[..., features]`, with scale and shift `[features]`; the variance is the biased one
    (Ba, Kiros & Hinton, 2016). What scale multiplies is computed in the wide element.
    """
    _demand_learned("layer_norm", value, scale, shift)
    own = in_element(value, wide(value.element))
    centred = own - _along(mean(own, -1), own)
    deviation = (mean(centred * centred, -1) + epsilon).sqrt()
    normalized = in_element(centred / _along(deviation, own), value.element)
    return spread(scale, value.shape, -1) * normalized + spread(shift, value.shape, -1)


def rms_norm(value: R, scale: R, *, epsilon: float = 1e-6) -> R:
    """Returns `scale * x / sqrt(mean(x * x) + epsilon)` over the last axis.

    `[..., features]`, with the scale `[features]` (Zhang & Sennrich, 2019). What it multiplies is
    computed in the wide element.
    """
    _demand_learned("rms_norm", value, scale)
    own = in_element(value, wide(value.element))
    root = (mean(own * own, -1) + epsilon).sqrt()
    return spread(scale, value.shape, -1) * in_element(own / _along(root, own), value.element)


def _along(statistic: R, value: R) -> R:
    """Returns a number for each sample, repeated along the last axis of `value`."""
    return statistic.broadcast_along((len(value.shape) - 1,), value.shape[-1:])


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
    _demand_learned("batch_norm", value, scale, shift, axis=1)
    axes = [axis for axis in range(len(value.shape)) if axis != 1]
    average = mean(value, axes)
    centred = value - spread(average, value.shape, 1)
    variance = mean(centred * centred, axes)
    return _affine(centred, variance, scale, shift, epsilon), average, variance


def batch_norm_inference(
    value: R, average: R, variance: R, scale: R, shift: R, *, epsilon: float = 1e-5
) -> R:
    """Returns `value` normalized by given statistics, with the shapes of `batch_norm`."""
    _demand_learned("batch_norm_inference", value, average, variance, scale, shift, axis=1)
    centred = value - spread(average, value.shape, 1)
    return _affine(centred, variance, scale, shift, epsilon)


def _affine(centred: R, variance: R, scale: R, shift: R, epsilon: float) -> R:
    deviation = (variance + epsilon).sqrt()
    normalized = centred / spread(deviation, centred.shape, 1)
    return spread(scale, centred.shape, 1) * normalized + spread(shift, centred.shape, 1)


def _demand_learned(name: str, value: R, *learned: R, axis: int = -1) -> None:
    if axis == 1 and len(value.shape) < 2:
        raise ShapeError(f"{name} needs [batch, features, ...], got {value.shape}")
    for each in learned:
        if len(each.shape) != 1:
            raise ShapeError(f"{name} needs a number for each feature, got {each.shape}")
        demand_features(name, value, each.shape[0], axis)


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


class _Learned(Layer):
    """A normalization whose `scale` and `shift` `[features]` are recorded in the tape's element."""

    def __init__(
        self,
        tape: Tape,
        features: int,
        *,
        epsilon: float = 1e-5,
        scale: Initializer = init.ones,
        shift: Initializer = init.zeros,
    ) -> None:
        name = type(self).__name__
        shape = (count(name, "features", features),)
        self.epsilon = positive(name, "an epsilon", epsilon)
        self.scale: Symbol = init.recorded(tape, name, scale, shape)
        self.shift: Symbol = init.recorded(tape, name, shift, shape)


class LayerNorm(_Learned):
    """A layer normalization over the last axis; the formula is `layer_norm`.

    Records `scale` and `shift` `[features]` in the tape's element.
    """

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the normalization of `value`."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return layer_norm(value, scale, shift, epsilon=self.epsilon)


class BatchNorm(_Learned):
    """A batch normalization over `[batch, features, ...]`; records `scale` and `shift`.

    `express` is the training form: it returns a `Normalization`, whose statistics the loop reads
    and averages by `RunningStatistics`. `inference` takes those as values.
    """

    def express(self, tape: Tape, value: Value) -> Normalization:
        """Records `value` normalized by the statistics of its own batch."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return Normalization(*batch_norm(value, scale, shift, epsilon=self.epsilon))

    def inference(self, tape: Tape, value: Value, mean: Value, variance: Value) -> Value:
        """Records `value` normalized by `mean` and `variance`, inputs as a rule."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return batch_norm_inference(value, mean, variance, scale, shift, epsilon=self.epsilon)


class RmsNorm(Layer):
    """A root-mean-square normalization over the last axis; the formula is `rms_norm`.

    Records `scale` `[features]` in the tape's element.
    """

    def __init__(
        self,
        tape: Tape,
        features: int,
        *,
        epsilon: float = 1e-6,
        scale: Initializer = init.ones,
    ) -> None:
        shape = (count("RmsNorm", "features", features),)
        self.epsilon = positive("RmsNorm", "an epsilon", epsilon)
        self.scale: Symbol = init.recorded(tape, "RmsNorm", scale, shape)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the normalization of `value`."""
        return rms_norm(value, tape.value(self.scale), epsilon=self.epsilon)
