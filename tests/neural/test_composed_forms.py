"""Modules have the bits of the same formula recorded by hand, gradients included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.exact import same
from topos import Tape, Tensor, Value, broadcast_to, mean, relu
from topos.neural import (
    Activation,
    BatchNorm,
    Conv2d,
    Flatten,
    LayerNorm,
    Linear,
    MaxPool,
    Mlp,
    Module,
    RmsNorm,
    Sequential,
    Visitor,
    init,
    parameters,
)

DRAWN = np.random.default_rng(5)
ROWS = Tensor(DRAWN.standard_normal((6, 4)).astype(np.float32))
IMAGES = Tensor(DRAWN.standard_normal((2, 3, 6, 6)).astype(np.float32))


def spread(features: Value, shape: tuple[int, ...], axis: int) -> Value:
    ones = [1] * len(shape)
    ones[axis] = shape[axis]
    return broadcast_to(features.reshape(ones), shape)


def linear_by_hand(x: Value, w: Value, b: Value) -> Value:
    return x @ w + broadcast_to(b, (x.shape[0], w.shape[1]))


def mlp_by_hand(x: Value, w: Value, b: Value, v: Value, c: Value) -> Value:
    return linear_by_hand(relu(linear_by_hand(x, w, b)), v, c)


def convolution_by_hand(x: Value, w: Value, b: Value) -> Value:
    windows = x.pad((0, 0, 1, 1), (0, 0, 1, 1)).unfold(2, 3, 2).unfold(3, 3, 2)
    patches = windows.permute((0, 2, 3, 1, 4, 5)).reshape((18, 27))
    product = (patches @ w.reshape((5, 27)).transpose()).reshape((2, 3, 3, 5))
    result = product.permute((0, 3, 1, 2))
    return result + spread(b, result.shape, 1)


def layer_norm_by_hand(x: Value, scale: Value, shift: Value) -> Value:
    centred = x - spread(x.sum(1) / 4.0, x.shape, 0)
    variance = (centred * centred).sum(1) / 4.0
    normalized = centred / spread((variance + 1e-5).sqrt(), x.shape, 0)
    return spread(scale, x.shape, 1) * normalized + spread(shift, x.shape, 1)


def rms_norm_by_hand(x: Value, scale: Value) -> Value:
    root = ((x * x).sum(1) / 4.0 + 1e-6).sqrt()
    return spread(scale, x.shape, 1) * (x / spread(root, x.shape, 0))


def batch_norm_by_hand(x: Value, scale: Value, shift: Value) -> Value:
    centred = x - spread(x.sum((0, 2, 3)) / 72.0, x.shape, 1)
    variance = (centred * centred).sum((0, 2, 3)) / 72.0
    normalized = centred / spread((variance + 1e-5).sqrt(), x.shape, 1)
    return spread(scale, x.shape, 1) * normalized + spread(shift, x.shape, 1)


class Trained:
    """The training form of a batch normalization, without its statistics."""

    def __init__(self, tape: Tape) -> None:
        self.norm = BatchNorm(tape, 3)

    def express(self, tape: Tape, value: Value) -> Value:
        return self.norm.express(tape, value).output

    def visit(self, visitor: Visitor) -> None:
        visitor.child("norm", self.norm)


XAVIER = init.xavier(1)
BIAS = init.normal(9)
PAIRS: dict[str, tuple[Callable[[Tape], Module], Callable[..., Value], Tensor]] = {
    "linear": (
        lambda tape: Linear(tape, 4, 3, weights=XAVIER, bias=BIAS),
        linear_by_hand,
        ROWS,
    ),
    "mlp": (
        lambda tape: Mlp(tape, [4, 5, 2], weights=XAVIER, bias=BIAS, activation=Activation.RELU),
        mlp_by_hand,
        ROWS,
    ),
    "conv2d": (
        lambda tape: Conv2d(tape, 3, 5, 3, weights=XAVIER, bias=BIAS, stride=2, padding=1),
        convolution_by_hand,
        IMAGES,
    ),
    "layer_norm": (lambda tape: LayerNorm(tape, 4), layer_norm_by_hand, ROWS),
    "rms_norm": (lambda tape: RmsNorm(tape, 4), rms_norm_by_hand, ROWS),
    "batch_norm": (Trained, batch_norm_by_hand, IMAGES),
    "sequential": (
        lambda tape: Sequential(
            Linear(tape, 4, 5, weights=XAVIER.split(0), bias=BIAS),
            Activation.RELU,
            Linear(tape, 5, 2, weights=XAVIER.split(1), bias=BIAS),
        ),
        mlp_by_hand,
        ROWS,
    ),
    "pooled": (
        lambda _: Sequential(MaxPool(2), Flatten()),
        lambda x: x.unfold(2, 2, 2).unfold(3, 2, 2).max((4, 5)).reshape((2, 27)),
        IMAGES,
    ),
}


def losses_and_gradients(pair: str, by_hand: bool, numerics: str) -> list[Tensor]:
    """Returns a loss of the module or of its hand-recorded twin, and every gradient."""
    make, twin, payload = PAIRS[pair]
    tape = Tape()
    x = tape.input(payload)
    module = make(tape)
    weights = [tape.value(symbol) for symbol in parameters(module)]
    value = twin(x, *weights) if by_hand else module.express(tape, x)
    adjoints = tape.differentiate(mean(value * value), [x, *weights])
    results = [value.symbol, *adjoints.roots()]
    run = tape.into_network().entry(results, numerics=numerics).lower().forward()
    return [run.of(symbol) for symbol in results]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_module_has_the_bits_of_its_hand_recorded_form(pair: str) -> None:
    composed = losses_and_gradients(pair, False, "exact")
    by_hand = losses_and_gradients(pair, True, "exact")
    assert len(composed) == len(by_hand)
    assert all(map(same, composed, by_hand))
