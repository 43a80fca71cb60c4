"""The models of the bench of plans, recorded: training steps and forward passes."""

from __future__ import annotations

import math
from itertools import pairwise
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
    # Drawn as they are kept: numbers of f64 in between would be the peak of what memory measures.
    array = np.random.default_rng(seed).standard_normal(shape, np.float32)
    array *= np.float32(scale)
    return array


def weights_of(widths: tuple[int, ...]) -> list[Array]:
    """Returns a weight and a bias for each pair of neighbouring widths."""
    arrays = []
    for place, (inner, outer) in enumerate(pairwise(widths)):
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


def perceptron(*, adam: bool, declared: bool = False, widths: tuple[int, ...] = WIDTHS) -> Model:
    """Records the perceptron's loss and the step of its parameters.

    A recording keeps the first payload of each parameter that is not `declared` by its shape alone.
    """
    tape = Tape()
    if declared:
        shapes = [
            shape for inner, outer in pairwise(widths) for shape in ((inner, outer), (outer,))
        ]
        parameters = [tape.parameter(shape=shape) for shape in shapes]
    else:
        parameters = [tape.parameter(array) for array in weights_of(widths)]
    value = tape.input(shape=(BATCH, widths[0]), name="x")
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


def attention(width: int, heads: int, tokens: int = TOKENS) -> Model:
    """Records self-attention over the tokens."""
    tape = Tape()
    value = tape.input(shape=(tokens, width), name="x")
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
    result = value + dense(hidden, *forward[2:])
    return Model(tape.into_network(), result.symbol, {})


def chain(length: int) -> Model:
    """Records alternating products and sums over [8, 8]."""
    tape = Tape()
    array = np.full((8, 8), 0.5, np.float32)
    value, weight = tape.parameter(array), tape.parameter(array)
    for _ in range(length // 2):
        value = value * weight + weight
    return Model(tape.into_network(), value.symbol, {})


def dense(value: Value, weight: Value, bias: Value) -> Value:
    """Records a product and a bias for each row."""
    product = value @ weight
    return product + broadcast_to(bias, product.shape)


def attended(value: Value, weights: list[Value], heads: int) -> Value:
    """Records scaled dot-product attention (Vaswani et al., 2017, section 3.2)."""
    tokens, width = value.shape
    size = width // heads
    query, key, values = (
        (value @ weight).reshape((tokens, heads, size)).permute((1, 0, 2)) for weight in weights[:3]
    )
    shares = softmax((query @ key.transpose()) * (1 / math.sqrt(size)), 2)
    return (shares @ values).permute((1, 0, 2)).reshape((tokens, width)) @ weights[3]


def normalized(value: Value) -> Value:
    """Records layer normalization without weights (Ba et al., 2016)."""
    width = value.shape[1]
    centred = value - mean(value, 1).broadcast_along([1], [width])
    scale = (variance(value, 1) + 1e-5).rsqrt()
    return centred * scale.broadcast_along([1], [width])


def _convolved(value: Value, kernels: Value, bias: Value) -> Value:
    """Records a convolution by 3x3 as a product of windows, [batch, channels, rows, columns]."""
    batch, channels, rows, columns = value.shape
    windows = value.unfold(2, 3, 1).unfold(3, 3, 1).permute((0, 2, 3, 1, 4, 5))
    flat = windows.reshape((batch * (rows - 2) * (columns - 2), 9 * channels))
    maps = dense(flat, kernels, bias)
    return maps.reshape((batch, rows - 2, columns - 2, bias.shape[0])).permute((0, 3, 1, 2))


def _pooled(value: Value) -> Value:
    return value.unfold(2, 2, 2).unfold(3, 2, 2).max((4, 5))


def _stepped(tape: Tape, logits: Value, parameters: list[Value], *, adam: bool) -> Model:
    """Records the cross-entropy of `logits`, its gradients and the parameters after one step."""
    targets = tape.input(one_hot(), name="targets")
    loss = -(targets * logits.log_softmax(1)).sum() / float(BATCH)
    adjoints = tape.differentiate(loss, parameters)
    gradients = [tape.value(symbol) for symbol in adjoints.roots()]
    updates = _adam(tape, parameters, gradients) if adam else _descent(parameters, gradients)
    result = loss.symbol
    return Model(tape.into_network(), result, {own.symbol: new.symbol for own, new in updates})


def _descent(parameters: list[Value], gradients: list[Value]) -> list[tuple[Value, Value]]:
    pairs = zip(parameters, gradients, strict=True)
    return [(own, own - gradient * RATE) for own, gradient in pairs]


def _adam(tape: Tape, parameters: list[Value], gradients: list[Value]) -> list[tuple[Value, Value]]:
    """Records Adam (Kingma & Ba, 2015, end of section 2), the moments parameters of the state."""
    rate = tape.input(np.float32(RATE), name="rate")
    updates = []
    for own, gradient in zip(parameters, gradients, strict=True):
        zeros = np.zeros(own.shape, np.float32)
        mean_before, square_before = tape.parameter(zeros), tape.parameter(zeros)
        average = mean_before * MEAN_DECAY + gradient * (1 - MEAN_DECAY)
        square = square_before * SQUARE_DECAY + gradient * gradient * (1 - SQUARE_DECAY)
        stepped = own - average * rate.broadcast(own.shape) / (square.sqrt() + EPSILON)
        updates += [(own, stepped), (mean_before, average), (square_before, square)]
    return updates
