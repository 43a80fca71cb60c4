"""Recordings that amount to a pattern: convolutions, pools, normalizations, attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos import Element, Tape, Value, f32, mean, variance

__all__ = [
    "attended",
    "convolved",
    "drawn",
    "normalized",
    "pooled",
]


def drawn(*shape: int, seed: int = 0, element: Element = f32) -> npt.NDArray[Any]:
    """Returns normal numbers of a fixed seed."""
    return np.random.default_rng(seed).standard_normal(shape).astype(element.dtype)


def convolved(
    value: Value,
    features: int,
    *,
    size: int = 3,
    step: int = 1,
    pad: int = 0,
    form: str = "rows",
    seed: int = 1,
) -> tuple[Value, list[Value]]:
    """Records a convolution with a bias over `[batch, channels, rows, columns]`.

    `form` is `rows` (a patch a row, weights a matrix), `stack` (weights `[features, channels,
    size, size]`), `columns` (a patch a column) or `late` (the bias on the maps). Returns the maps
    and the parameters.
    """
    tape, channels = value.tape, value.shape[1]
    depth = channels * size * size
    if pad:
        value = value.pad((0, 0, pad, pad), (0, 0, pad, pad))
    windows = value.unfold(2, size, step).unfold(3, size, step)
    batch, _, rows, columns = windows.shape[:4]
    flat, laid = batch * rows * columns, (batch, rows, columns, features)
    shapes = {"columns": (features, depth), "stack": (features, channels, size, size)}
    shape = shapes.get(form, (depth, features))
    weights = tape.parameter(drawn(*shape, seed=seed, element=value.element))
    bias = tape.parameter(drawn(features, seed=seed + 1, element=value.element))
    if form == "columns":
        patches = windows.permute((1, 4, 5, 0, 2, 3)).reshape((depth, flat))
        product = weights @ patches + bias.broadcast_along([1], [flat])
        maps = product.reshape((features, batch, rows, columns)).permute((1, 0, 2, 3))
        return maps, [weights, bias]
    patches = windows.permute((0, 2, 3, 1, 4, 5)).reshape((flat, depth))
    stacked = form == "stack"
    matrix = weights.reshape((features, depth)).transpose() if stacked else weights
    if form == "late":
        maps = (patches @ matrix).reshape(laid).permute((0, 3, 1, 2))
        return maps + bias.broadcast_along([0, 2, 3], [batch, rows, columns]), [weights, bias]
    product = patches @ matrix + bias.broadcast_along([0], [flat])
    return product.reshape(laid).permute((0, 3, 1, 2)), [weights, bias]


def pooled(value: Value, size: int | tuple[int, int] = 2, step: int = 2) -> Value:
    """Records the maxima of windows, square by default, of the last two of four axes."""
    rows, columns = (size, size) if isinstance(size, int) else size
    return value.unfold(2, rows, step).unfold(3, columns, step).max((4, 5))


def normalized(
    value: Value, axes: Sequence[int], statistics: tuple[Value, Value] | None = None
) -> tuple[Value, Value, Value]:
    """Records a batch normalization over `axes`; returns it with its mean and its variance."""
    tape, element = value.tape, value.element
    (feature,) = (axis for axis in range(len(value.shape)) if axis not in axes)
    count, extents = value.shape[feature], [value.shape[axis] for axis in axes]
    scale = tape.parameter(drawn(count, seed=5, element=element), element=element)
    shift = tape.parameter(drawn(count, seed=6, element=element), element=element)

    def spread(statistic: Value) -> Value:
        return statistic.broadcast_along(axes, extents)

    centre, width = statistics or (mean(value, axes), variance(value, axes))
    standard = (value - spread(centre)) / spread((width + 0.125).sqrt())
    return spread(scale) * standard + spread(shift), centre, width


def attended(tape: Tape, *heads: int, masked: bool = False, element: Element = f32) -> Value:
    """Records scaled dot-product attention of some heads, under a causal mask where `masked`."""
    heads = heads or (2,)
    query, key, value = (
        tape.input(drawn(*heads, 5, 3, seed=seed, element=element)) for seed in range(3)
    )
    scores = (query @ key.transpose()) * 0.5
    if masked:
        mask = tape.leaf(np.tril(np.ones((5, 5), np.bool_)))
        mask = mask.broadcast_along(range(len(heads)), heads)
        scores = mask.select(scores, scores.fill(-np.inf))
    return scores.log_softmax(-1).exp() @ value
