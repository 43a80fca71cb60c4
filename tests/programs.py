"""Whole programs that the suite emits: each a plan on small payloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos import Element, Numerics, Plan, Tape, bf16, f32, f64, gelu, i64, mean, relu, softmax

__all__ = ["PROGRAMS"]


def line() -> Plan:
    """The derivative of a squared error with respect to the slope of a line."""
    tape = Tape(element=f64)
    w, x, y = (tape.parameter(0.5, name="w"), tape.input(2.0, name="x"), tape.input(4.0, name="y"))
    error = w * x - y
    loss = (error * error).named("loss")
    adjoints = tape.differentiate(loss, [w])
    return tape.into_network().entry([loss.symbol, *adjoints.roots()]).lower()


def classifier() -> Plan:
    """Loss and gradients of a two-layer classifier, exact."""
    tape = Tape()
    x = tape.input(drawn(4, 6), name="x")
    targets = tape.input(np.eye(3, dtype=np.float32)[[0, 2, 1, 2]], name="targets")
    first, bias = tape.parameter(drawn(6, 5), name="first"), tape.parameter(drawn(5), name="bias")
    second = tape.parameter(drawn(5, 3), name="second")
    hidden = relu(x @ first + bias.broadcast_along([0], [4]))
    loss = -mean((hidden @ second).log_softmax(1) * targets).named("loss")
    adjoints = tape.differentiate(loss, [first, bias, second])
    entry = tape.into_network().entry(
        [loss.symbol, *adjoints.roots()], observe=[hidden.symbol], numerics=Numerics.EXACT
    )
    return entry.lower()


def attention(element: Element = f32) -> Plan:
    """Scaled dot-product attention over two heads, under a causal mask."""
    tape = Tape(element=element)
    query, key, value = (
        tape.input(drawn(2, 4, 3).tolist(), name=name) for name in ("query", "key", "value")
    )
    mask = tape.leaf(np.tril(np.ones((4, 4), np.bool_)), name="mask").broadcast_along([0], [2])
    scores = (query @ key.transpose()) * (1.0 / np.sqrt(3.0).item())
    weights = softmax(mask.select(scores, scores.fill(-np.inf)), 2)
    result = weights @ value
    return tape.into_network().entry([result.symbol]).lower()


def convolution() -> Plan:
    """A padded 3x3 convolution, a max pool and their gradients, by windows."""
    tape = Tape()
    image = tape.input(drawn(1, 2, 6, 6), name="image")
    kernels = tape.parameter(drawn(18, 3), name="kernels")
    padded = image.pad((0, 0, 1, 1), (0, 0, 1, 1))
    windows = padded.unfold(2, 3, 1).unfold(3, 3, 1).permute((0, 2, 3, 1, 4, 5))
    maps = gelu((windows.reshape((36, 18)) @ kernels).reshape((1, 6, 6, 3)))
    pooled = maps.unfold(1, 2, 2).unfold(2, 2, 2).max((4, 5))
    loss = (pooled * pooled).sum().named("loss")
    adjoints = tape.differentiate(loss, [kernels, image])
    return tape.into_network().entry([loss.symbol, *adjoints.roots()]).lower()


def masked() -> Plan:
    """The lower triangle of a matrix, under a constant mask of more elements than a list has."""
    tape = Tape()
    mask = tape.leaf(np.tril(np.ones((9, 9), np.bool_)), name="mask")
    result = mask.select(tape.input(drawn(9, 9), name="x"), -1.0)
    return tape.into_network().entry([result.symbol]).lower()


def embedding() -> Plan:
    """A table looked up by i64 tokens, its mean, and the gradient scattered back."""
    tape = Tape()
    table = tape.parameter(drawn(7, 4), name="table")
    tokens = tape.input(np.array([[1, 5, 1], [6, 0, 2]]), name="tokens", element=i64)
    loss = mean(table.gather(tokens, 0).tanh()).named("loss")
    adjoints = tape.differentiate(loss, [table])
    return tape.into_network().entry([loss.symbol, *adjoints.roots()]).lower()


def newton() -> Plan:
    """A function, its slope and its curvature, by differentiating twice."""
    tape = Tape(element=f64)
    x = tape.input(0.7, name="x")
    y = ((x * x + 1.0).ln() * x.sin() + x.expm1()).named("y")
    slope = tape.value(tape.differentiate(y, [x]).of(x)).named("slope")
    curvature = tape.value(tape.differentiate(slope, [x]).of(x)).named("curvature")
    return tape.into_network().entry([v.symbol for v in (y, slope, curvature)]).lower()


def narrow() -> Plan:
    """The attention program in bf16, whose sums accumulate in f32."""
    return attention(bf16)


def drawn(*shape: int) -> npt.NDArray[Any]:
    """Returns f32 numbers between -1 and 1 that look disordered and never change."""
    count = int(np.prod(shape))
    steps = (np.arange(count) * 37 + 11) % 101
    return ((steps - 50) / np.float32(50)).astype(np.float32).reshape(shape)


PROGRAMS: Final[dict[str, Callable[[], Plan]]] = {
    program.__name__: program
    for program in (attention, classifier, convolution, embedding, line, masked, narrow, newton)
}
