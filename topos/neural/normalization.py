"""Normalization of each sample by its own features: layer and root-mean-square."""

from __future__ import annotations

from topos import Symbol, Tape, Value, mean
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.formula import R, count, demand_features, positive, spread
from topos.neural.init import Initializer
from topos.neural.module import Visitor
from topos.neural.wide import in_element, wide

__all__ = ["LayerNorm", "RmsNorm", "layer_norm", "rms_norm"]


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


def _demand_learned(name: str, value: R, *learned: R) -> None:
    for each in learned:
        if len(each.shape) != 1:
            raise ShapeError(f"{name} needs a number for each feature, got {each.shape}")
        demand_features(name, value, each.shape[0])


class LayerNorm:
    """A layer normalization over the last axis; the formula is `layer_norm`.

    Records `scale` and `shift` `[features]` in the tape's element.
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
        shape = (count("LayerNorm", "features", features),)
        self.epsilon = positive("LayerNorm", "an epsilon", epsilon)
        self.scale: Symbol = init.recorded(tape, "LayerNorm", scale, shape)
        self.shift: Symbol = init.recorded(tape, "LayerNorm", shift, shape)

    def express(self, tape: Tape, value: Value) -> Value:
        """Records the normalization of `value`."""
        scale, shift = tape.value(self.scale), tape.value(self.shift)
        return layer_norm(value, scale, shift, epsilon=self.epsilon)

    def visit(self, visitor: Visitor) -> None:
        """Shows `scale`, then `shift`."""
        visitor.parameter("scale", self.scale)
        visitor.parameter("shift", self.shift)


class RmsNorm:
    """A root-mean-square normalization over the last axis; the formula is `rms_norm`.

    Records `scale` `[features]` in the tape's element.
    """

    __slots__ = ("epsilon", "scale")

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

    def visit(self, visitor: Visitor) -> None:
        """Shows `scale`."""
        visitor.parameter("scale", self.scale)
