"""The models of the bench of plans by hand: numpy with `out=`, buffers made once, one thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from plan_models import (
    BATCH,
    CLASSES,
    EPSILON,
    MEAN_DECAY,
    RATE,
    SQUARE_DECAY,
    TOKENS,
    WIDTHS,
    attention_weights,
    convolution_weights,
    one_hot,
    weights_of,
)

__all__ = ["attention", "block", "chain", "convolutional", "perceptron"]

Array = Any


def empty(*shape: int) -> Array:
    """Returns an f32 buffer."""
    return np.empty(shape, np.float32)


def cross_entropy(logits: Array, targets: Array) -> tuple[float, Array]:
    """Returns the mean loss, and its gradient written over `logits`."""
    logits -= logits.max(1, keepdims=True)
    exponentials = np.exp(logits)
    totals = exponentials.sum(1, keepdims=True)
    logits -= np.log(totals)
    loss = -np.vdot(targets, logits) / len(logits)
    exponentials /= totals
    np.subtract(exponentials, targets, out=logits)
    logits /= np.float32(len(logits))
    return loss, logits


def descend(weights: list[Array], gradients: list[Array]) -> None:
    """Steps `weights` in place; the gradients are spent."""
    for weight, gradient in zip(weights, gradients, strict=True):
        gradient *= np.float32(RATE)
        weight -= gradient


def adam(weights: list[Array], gradients: list[Array]) -> Callable[[], None]:
    """Returns the step of Adam in place, its moments and two buffers made once."""
    means, squares = ([np.zeros_like(weight) for weight in weights] for _ in range(2))
    scratch = [np.empty_like(weight) for weight in weights]
    rate, epsilon = np.float32(RATE), np.float32(EPSILON)

    def step() -> None:
        for weight, gradient, mean, square, spare in zip(
            weights, gradients, means, squares, scratch, strict=True
        ):
            mean *= np.float32(MEAN_DECAY)
            np.multiply(gradient, np.float32(1 - MEAN_DECAY), out=spare)
            mean += spare
            square *= np.float32(SQUARE_DECAY)
            np.multiply(gradient, gradient, out=gradient)
            gradient *= np.float32(1 - SQUARE_DECAY)
            square += gradient
            np.sqrt(square, out=spare)
            spare += epsilon
            np.multiply(mean, rate, out=gradient)
            gradient /= spare
            weight -= gradient

    return step


def perceptron(x: Array, *, with_adam: bool) -> Callable[[], float]:
    """Returns a training step of the perceptron."""
    w1, b1, w2, b2, w3, b3 = weights = weights_of(WIDTHS)
    g1, c1, g2, c2, g3, c3 = gradients = [np.empty_like(weight) for weight in weights]
    (h1, d1), (h2, d2) = ((empty(BATCH, width), empty(BATCH, width)) for width in WIDTHS[1:3])
    logits, targets = empty(BATCH, CLASSES), one_hot()
    update = adam(weights, gradients) if with_adam else lambda: descend(weights, gradients)

    def layer(value: Array, weight: Array, bias: Array, out: Array) -> None:
        np.matmul(value, weight, out=out)
        np.add(out, bias, out=out)

    def step() -> float:
        layer(x, w1, b1, h1)
        np.maximum(h1, 0, out=h1)
        layer(h1, w2, b2, h2)
        np.maximum(h2, 0, out=h2)
        layer(h2, w3, b3, logits)
        loss, d3 = cross_entropy(logits, targets)
        np.matmul(h2.T, d3, out=g3)
        np.sum(d3, 0, out=c3)
        np.matmul(d3, w3.T, out=d2)
        np.multiply(d2, h2 > 0, out=d2)
        np.matmul(h1.T, d2, out=g2)
        np.sum(d2, 0, out=c2)
        np.matmul(d2, w2.T, out=d1)
        np.multiply(d1, h1 > 0, out=d1)
        np.matmul(x.T, d1, out=g1)
        np.sum(d1, 0, out=c1)
        update()
        return loss

    return step


def windows(value: Array) -> Array:
    """Returns the 3x3 windows of [batch, rows, columns, channels], lanes as [3, 3, channels]."""
    return sliding_window_view(value, (3, 3), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)


def quarters(value: Array) -> list[Array]:
    """Returns the four views that a pool by 2 compares, less an odd last row and column."""
    rows, columns = (extent // 2 * 2 for extent in value.shape[1:3])
    return [value[:, i:rows:2, j:columns:2] for i, j in product(range(2), range(2))]


def pool(value: Array, out: Array) -> None:
    """Writes the maxima of the quarters of `value`."""
    first, second, third, fourth = quarters(value)
    np.maximum(first, second, out=out)
    np.maximum(out, third, out=out)
    np.maximum(out, fourth, out=out)


def unpool(value: Array, pooled: Array, gradient: Array, out: Array) -> None:
    """Writes `gradient` where `value` is the maximum, zero elsewhere; ties all receive it."""
    if value.shape[1] % 2:
        out[:, -1], out[:, :, -1] = 0, 0
    for own, target in zip(quarters(value), quarters(out), strict=True):
        np.multiply(gradient, own == pooled, out=target)


class Convolution:
    """One convolution by 3x3 and a pool by 2, with every buffer of both directions."""

    def __init__(self, batch: int, rows: int, channels: int, kernels: Array, bias: Array) -> None:
        size, half, maps = rows - 2, (rows - 2) // 2, len(bias)
        # The recording has lanes by channel, row and column; here the channels lie innermost.
        lanes = kernels.reshape(channels, 9, maps).transpose(1, 0, 2)
        self.kernels = np.ascontiguousarray(lanes).reshape(9 * channels, maps)
        self.bias, self.slopes, self.bias_slopes = bias, empty(9 * channels, maps), empty(maps)
        self.patches = empty(batch, size, size, 3, 3, channels)
        self.flat = self.patches.reshape(-1, 9 * channels)
        self.maps, self.pooled = empty(batch, size, size, maps), empty(batch, half, half, maps)
        self.rows = self.maps.reshape(-1, maps)

    def forward(self, value: Array) -> Array:
        """Returns the pooled maps of [batch, rows, columns, channels]."""
        np.copyto(self.patches, windows(value))
        np.matmul(self.flat, self.kernels, out=self.rows)
        np.add(self.rows, self.bias, out=self.rows)
        pool(self.maps, self.pooled)
        return self.pooled

    def backward(self, gradient: Array, out: Array | None) -> None:
        """Writes the slopes of kernels and bias, and of the input where it is asked for."""
        unpool(self.maps, self.pooled, gradient, self.maps)
        np.matmul(self.flat.T, self.rows, out=self.slopes)
        np.matmul(np.ones(len(self.rows), np.float32), self.rows, out=self.bias_slopes)
        if out is None:
            return
        np.matmul(self.rows, self.kernels.T, out=self.flat)
        out.fill(0)
        size = self.maps.shape[1]
        for i, j in product(range(3), range(3)):
            target = out[:, i : i + size, j : j + size]
            np.add(target, self.patches[:, :, :, i, j], out=target)


def convolutional(x: Array, *, training: bool) -> Callable[[], Any]:
    """Returns a training step, or a forward pass, of the convolutional network."""
    kernels, bias, more_kernels, more_bias, weight, offset = convolution_weights()
    batch, image = len(x), x.reshape(len(x), 28, 28, 1)
    first = Convolution(batch, 28, 1, kernels, bias)
    second = Convolution(batch, 13, 8, more_kernels, more_bias)
    logits, targets = empty(batch, CLASSES), one_hot()
    weight_slopes, offset_slopes = np.empty_like(weight), np.empty_like(offset)
    last, between = empty(batch, 400), empty(batch, 13, 13, 8)

    def forward() -> Array:
        features = second.forward(first.forward(image)).reshape(batch, 400)
        np.matmul(features, weight, out=logits)
        np.add(logits, offset, out=logits)
        return logits

    def step() -> float:
        loss, slopes = cross_entropy(forward(), targets)
        np.matmul(second.pooled.reshape(batch, 400).T, slopes, out=weight_slopes)
        np.sum(slopes, 0, out=offset_slopes)
        np.matmul(slopes, weight.T, out=last)
        second.backward(last.reshape(batch, 5, 5, 16), between)
        first.backward(between, None)
        owned = [weight, offset]
        gradients = [weight_slopes, offset_slopes]
        for layer in (first, second):
            owned += [layer.kernels, layer.bias]
            gradients += [layer.slopes, layer.bias_slopes]
        descend(owned, gradients)
        return loss

    return step if training else forward


def attention(x: Array, width: int, heads: int) -> Callable[..., Array]:
    """Returns a forward pass of self-attention, of `x` unless it is given another value."""
    weights, size = attention_weights(width), width // heads
    query, key, value, mixed, result = (empty(TOKENS, width) for _ in range(5))
    scores = empty(heads, TOKENS, TOKENS)
    scale = np.float32(1 / math.sqrt(size))

    def split(flat: Array) -> Array:
        return flat.reshape(TOKENS, heads, size).transpose(1, 0, 2)

    def forward(own: Array = x) -> Array:
        for weight, target in zip(weights, (query, key, value), strict=False):
            np.matmul(own, weight, out=target)
        # The scale is cheaper on the queries than on the scores.
        np.multiply(query, scale, out=query)
        np.matmul(split(query), split(key).transpose(0, 2, 1), out=scores)
        np.subtract(scores, scores.max(2, keepdims=True), out=scores)
        np.exp(scores, out=scores)
        totals = scores.sum(2)
        np.matmul(scores, split(value), out=split(mixed))
        # The division too is cheaper after the product.
        np.divide(split(mixed), totals[..., None], out=split(mixed))
        return np.matmul(mixed, weights[3], out=result)

    return forward


def block(x: Array, width: int, heads: int) -> Callable[[], Array]:
    """Returns a forward pass of the transformer block."""
    attend = attention(x, width, heads)
    up, up_bias, down, down_bias = weights_of((width, 4 * width, width))
    normal, value, spare = (empty(TOKENS, width) for _ in range(3))
    hidden, inner = empty(TOKENS, 4 * width), empty(TOKENS, 4 * width)

    def normalize(own: Array) -> None:
        np.subtract(own, own.mean(1, keepdims=True), out=normal)
        np.multiply(normal, normal, out=spare)
        scale = 1 / np.sqrt(spare.mean(1, keepdims=True) + np.float32(1e-5))
        np.multiply(normal, scale, out=normal)

    def gelu() -> None:
        """Hendrycks & Gimpel (2016), section 2, over `hidden`."""
        np.multiply(hidden, hidden, out=inner)
        np.multiply(inner, np.float32(0.044715), out=inner)
        np.add(inner, np.float32(1), out=inner)
        np.multiply(inner, hidden, out=inner)
        np.multiply(inner, np.float32(math.sqrt(2 / math.pi)), out=inner)
        np.tanh(inner, out=inner)
        np.add(inner, np.float32(1), out=inner)
        np.multiply(hidden, np.float32(0.5), out=hidden)
        np.multiply(hidden, inner, out=hidden)

    def forward() -> Array:
        normalize(x)
        np.add(x, attend(normal), out=value)
        normalize(value)
        np.matmul(normal, up, out=hidden)
        np.add(hidden, up_bias, out=hidden)
        gelu()
        np.matmul(hidden, down, out=normal)
        np.add(normal, down_bias, out=normal)
        return np.add(value, normal, out=normal)

    return forward


def chain(length: int) -> Callable[[], Array]:
    """Returns as many numpy calls as the chain has nodes."""
    array = np.full((8, 8), 0.5, np.float32)

    def forward() -> Array:
        value = array
        for _ in range(length // 2):
            value = np.add(np.multiply(value, array), array)
        return value

    return forward
