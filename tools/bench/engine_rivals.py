"""The workloads of the bench of engines written by hand, for numpy and for jax."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["attention", "convolutional", "donating", "llama", "llama_in_jax", "llama_in_numpy"]

Array = Any


def convolutional(parameters: list[Array], x: Array) -> Array:
    """Returns the logits of the convolutional network, by operations of jax."""
    import jax

    def convolved(x: Array, kernels: Array) -> Array:
        shaped = kernels.reshape(x.shape[1], 3, 3, -1)
        numbers = ("NCHW", "IHWO", "NCHW")
        return jax.lax.conv_general_dilated(x, shaped, (1, 1), "VALID", dimension_numbers=numbers)

    def pooled(x: Array) -> Array:
        window = (1, 1, 2, 2)
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")

    for kernels, bias in (parameters[:2], parameters[2:4]):
        x = pooled(convolved(x, kernels) + bias[:, None, None])
    return x.transpose(0, 2, 3, 1).reshape(len(x), -1) @ parameters[4] + parameters[5]


def attention(weights: list[Array], x: Array, heads: int) -> Array:
    """Returns self-attention over the tokens, by operations of jax."""
    import jax

    tokens, width = x.shape
    size = width // heads
    query, key, value = (
        (x @ weight).reshape(tokens, heads, size).transpose(1, 0, 2) for weight in weights[:3]
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(size)
    mixed = jax.nn.softmax(scores, -1) @ value
    return mixed.transpose(1, 0, 2).reshape(tokens, width) @ weights[3]


def llama(
    xp: Any,
    sizes: Any,
    write: Callable[[Array, Array, Any], Array],
    filled: Callable[[Array, Any], Array],
) -> Callable[..., tuple[Array, Any]]:
    """Returns a step of a Llama: weights, caches, a token and its slot to logits and caches.

    `xp` is numpy or jax.numpy. Caches are `[groups, capacity, depth]`; `write` puts a row into
    one, and `filled` takes the part of one that may be read.
    """
    heads, groups, depth = sizes.heads, sizes.groups, sizes.depth
    half, scale = depth // 2, np.float32(1.0 / math.sqrt(depth))
    frequencies = np.float32(sizes.base) ** (-np.arange(half, dtype=np.float32) / half)

    def turned(value: Array, slot: Any) -> Array:
        angles = xp.asarray(slot, np.float32) * frequencies
        cosines, sines = xp.cos(angles), xp.sin(angles)
        first, second = value[..., :half], value[..., half:]
        turns = [first * cosines - second * sines, second * cosines + first * sines]
        return xp.concatenate(turns, -1)

    def normalized(value: Array, scale: Array) -> Array:
        return value * (scale / xp.sqrt((value * value).mean() + np.float32(sizes.epsilon)))

    def attended(own: Mapping[str, Array], normal: Array, cache: Any, slot: Any) -> Any:
        query = turned((normal @ own["query.weights"]).reshape(groups, -1, depth), slot)
        key = turned((normal @ own["key.weights"]).reshape(groups, depth), slot)
        value = (normal @ own["value.weights"]).reshape(groups, depth)
        keys, values = write(cache[0], key, slot), write(cache[1], value, slot)
        read = filled(keys, slot)
        scores = query @ read.transpose(0, 2, 1) * scale
        scores = xp.where(np.arange(read.shape[1]) <= slot, scores, np.float32(-1e38))
        shares = xp.exp(scores - scores.max(-1, keepdims=True))
        mixed = shares @ filled(values, slot) / shares.sum(-1, keepdims=True)
        return mixed.reshape(heads * depth) @ own["mixed.weights"], (keys, values)

    def fed(own: Mapping[str, Array], normal: Array) -> Array:
        gate = normal @ own["gate.weights"]
        gate = gate / (1 + xp.exp(-gate))
        return (gate * (normal @ own["up.weights"])) @ own["down.weights"]

    def step(weights: Any, caches: Any, token: Any, slot: Any) -> tuple[Array, Any]:
        hidden, after = weights["embedding.table"][token], []
        for own, cache in zip(weights["blocks"], caches, strict=True):
            normal = normalized(hidden, own["attention_norm.scale"])
            more, grown = attended(own, normal, cache, slot)
            hidden = hidden + more
            hidden = hidden + fed(own, normalized(hidden, own["feed_norm.scale"]))
            after.append(grown)
        return normalized(hidden, weights["norm.scale"]) @ weights["output.weights"], after

    return step


def llama_in_numpy(sizes: Any, weights: Any, caches: Any) -> Callable[[int, int], Array]:
    """Returns a step that writes into its caches and reads what is filled of them."""

    def write(cache: Array, row: Array, slot: int) -> Array:
        cache[:, slot] = row
        return cache

    step = llama(np, sizes, write, lambda cache, slot: cache[:, : slot + 1])
    return lambda token, slot: step(weights, caches, token, slot)[0]


def llama_in_jax(sizes: Any, weights: Any, caches: Any) -> Callable[[int, int], Array]:
    """Returns a jitted step, its weights on the device and its caches donated."""
    import jax

    def write(cache: Array, row: Array, slot: Any) -> Array:
        return jax.lax.dynamic_update_slice(cache, row[:, None], (0, slot, 0))

    return donating(llama(jax.numpy, sizes, write, lambda cache, slot: cache), weights, caches)


def donating(
    step: Callable[..., tuple[Any, Any]], weights: Any, caches: Any
) -> Callable[[int, int], Array]:
    """Returns a step of a decoder, jitted, with the weights on its device and caches donated."""
    import jax

    run = jax.jit(step, donate_argnums=1)
    held, state = jax.device_put(weights), jax.device_put(caches)

    def stepped(token: int, slot: int) -> Array:
        nonlocal state
        logits, state = run(held, state, np.int32(token), np.int32(slot))
        return np.asarray(logits)

    return stepped
