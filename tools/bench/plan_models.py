"""The models of the bench of plans, recorded: training steps and forward passes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from topos import Network, Symbol, Tape, Value, broadcast_to, gelu_tanh, mean, softmax, variance

Array = Any

RATE, MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.01, 0.9, 0.999, 1e-8
BATCH, CLASSES = 64, 10
WIDTHS = (784, 256, 128, CLASSES)
TOKENS = 256


class Model(NamedTuple):
    """A recording: what it answers, and the new state of each parameter, by its symbol."""

    network: Network
    result: Symbol
    updates: dict[Symbol, Symbol]


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Returns normal f32 numbers of a fixed seed."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def weights_of(widths: tuple[int, ...]) -> list[Array]:
    """Returns a weight and a bias for each pair of neighbouring widths."""
    arrays = []
    for place, (inner, outer) in enumerate(zip(widths, widths[1:], strict=False)):
        arrays.append(drawn(inner, outer, seed=place, scale=1 / math.sqrt(inner)))
        arrays.append(np.zeros(outer, np.float32))
    return arrays


def convolution_weights() -> list[Array]:
    """Returns kernels as [lanes, maps], lanes by channel, row and column, and their biases."""
    return [
        *(drawn(9, 8, seed=1, scale=1 / 3), np.zeros(8, np.float32)),
        *(drawn(72, 16, seed=2, scale=1 / math.sqrt(72)), np.zeros(16, np.float32)),
        *weights_of((400, CLASSES)),
    ]


def attention_weights(width: int) -> list[Array]:
    """Returns the projections of queries, keys, values and the result."""
    return [drawn(width, width, seed=seed, scale=1 / math.sqrt(width)) for seed in range(4)]


def one_hot() -> Array:
    """Returns the classes of the batch, [BATCH, CLASSES]."""
    return np.eye(CLASSES, dtype=np.float32)[np.arange(BATCH) * 7 % CLASSES]


def perceptron(*, adam: bool) -> Model:
    """Records the perceptron's loss and the step of its parameters."""
    tape = Tape()
    parameters = [tape.parameter(array) for array in weights_of(WIDTHS)]
    value = tape.input(shape=(BATCH, WIDTHS[0]), name="x")
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        value = dense(value, weight, bias)
        if bias is not parameters[-1]:
            value = value.maximum(0.0)
    return _stepped(tape, value, parameters, adam=adam)


def convolutional(batch: int, *, training: bool) -> Model:
    """Records the convolutional network: its loss and step, or its logits."""
    tape = Tape()
    parameters = [tape.parameter(array) for array in convolution_weights()]
    value = tape.input(shape=(batch, 1, 28, 28), name="x")
    for kernels, bias in zip(parameters[:4:2], parameters[1:4:2], strict=True):
        value = _pooled(_convolved(value, kernels, bias))
    value = value.permute((0, 2, 3, 1))
    logits = dense(value.reshape((batch, 400)), *parameters[4:])
    if training:
        return _stepped(tape, logits, parameters, adam=False)
    return Model(tape.into_network(), logits.symbol, {})


def attention(width: int, heads: int) -> Model:
    """Records self-attention over the tokens."""
    tape = Tape()
    value = tape.input(shape=(TOKENS, width), name="x")
    result = attended(value, [tape.parameter(array) for array in attention_weights(width)], heads)
    return Model(tape.into_network(), result.symbol, {})


def block(width: int, heads: int) -> Model:
    """Records a transformer block: attention and a feed-forward of four widths, both residual."""
    tape = Tape()
    value = tape.input(shape=(TOKENS, width), name="x")
    weights = [tape.parameter(array) for array in attention_weights(width)]
    forward = [tape.parameter(array) for array in weights_of((width, 4 * width, width))]
    value = value + attended(normalized(value), weights, heads)
    hidden = gelu_tanh(dense(normalized(value), *forward[:2]))
    return Model(tape.into_network(), (value + dense_after(tape, hidden, forward)).symbol, {})


def chain(length: int) -> Model:
    """Records alternating products and sums over [8, 8]."""
    tape = Tape()
    array = np.full((8, 8), 0.5, np.float32)
    value, weight = tape.parameter(array), tape.parameter(array)
    for _ in range(length // 2):
        value = value * weight + weight
    return Model(tape.into_network(), value.symbol, {})
