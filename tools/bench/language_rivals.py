"""GPT-2's decoding by hand over the same weights and caches: in numpy, and in jax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from engine_rivals import donating

__all__ = ["in_jax", "in_numpy"]

Array = npt.NDArray[Any]
Step = Callable[[int, int], Array]
"""The logits `[vocabulary]` after a token that is at some place of the caches."""


def in_numpy(weights: dict[str, Array], heads: int, caches: list[tuple[Array, Array]]) -> Step:
    """Returns a step that writes to the caches `[heads, capacity, depth]`, with `out=` throughout.

    Only the places that are filled take part in the attention.
    """
    layers, (_, capacity, depth) = len(caches), caches[0][0].shape
    features, scale = heads * depth, np.float32(1.0 / math.sqrt(depth))
    table, places = weights["wte.weight"], weights["wpe.weight"]
    hidden, normal, spare = (np.empty((1, features), np.float32) for _ in range(3))
    mixed = np.empty((1, 3 * features), np.float32)
    wide, inner = (np.empty((1, 4 * features), np.float32) for _ in range(2))
    logits = np.empty((1, len(table)), np.float32)
    scores = np.empty((heads, 1, capacity), np.float32)
    attended = np.empty((heads, 1, depth), np.float32)

    def normalize(name: str) -> None:
        np.subtract(hidden, hidden.mean(), out=normal)
        np.multiply(normal, 1 / np.sqrt(np.vdot(normal, normal) / features + 1e-5), out=normal)
        np.multiply(normal, weights[f"{name}.weight"], out=normal)
        np.add(normal, weights[f"{name}.bias"], out=normal)

    def linear(value: Array, name: str, out: Array) -> None:
        np.matmul(value, weights[f"{name}.weight"], out=out)
        np.add(out, weights[f"{name}.bias"], out=out)

    def gelu() -> None:
        """Hendrycks & Gimpel (2016), section 2, over `wide`."""
        np.multiply(wide, wide, out=inner)
        np.multiply(inner, np.float32(0.044715), out=inner)
        np.add(inner, np.float32(1), out=inner)
        np.multiply(inner, wide, out=inner)
        np.multiply(inner, np.float32(math.sqrt(2 / math.pi)), out=inner)
        np.tanh(inner, out=inner)
        np.add(inner, np.float32(1), out=inner)
        np.multiply(wide, np.float32(0.5), out=wide)
        np.multiply(wide, inner, out=wide)

    def attend(layer: int, slot: int) -> None:
        keys, values = caches[layer]
        query, key, value = mixed.reshape(3, heads, depth)
        keys[:, slot], values[:, slot] = key, value
        own = scores[:, :, : slot + 1]
        np.multiply(query, scale, out=query)
        np.matmul(query[:, None], keys[:, : slot + 1].transpose(0, 2, 1), out=own)
        np.subtract(own, own.max(2, keepdims=True), out=own)
        np.exp(own, out=own)
        np.divide(own, own.sum(2, keepdims=True), out=own)
        np.matmul(own, values[:, : slot + 1], out=attended)

    def step(token: int, slot: int) -> Array:
        np.add(table[token], places[slot], out=hidden[0])
        for layer in range(layers):
            normalize(f"h.{layer}.ln_1")
            linear(normal, f"h.{layer}.attn.c_attn", mixed)
            attend(layer, slot)
            linear(attended.reshape(1, features), f"h.{layer}.attn.c_proj", spare)
            np.add(hidden, spare, out=hidden)
            normalize(f"h.{layer}.ln_2")
            linear(normal, f"h.{layer}.mlp.c_fc", wide)
            gelu()
            linear(wide, f"h.{layer}.mlp.c_proj", spare)
            np.add(hidden, spare, out=hidden)
        normalize("ln_f")
        return np.matmul(normal, table.T, out=logits)[0]

    return step


def in_jax(weights: dict[str, Array], heads: int, caches: list[tuple[Array, Array]]) -> Step:
    """Returns a jitted step with the weights on its device, and the caches donated."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    layers, (_, capacity, depth) = len(caches), caches[0][0].shape

    def normalized(held: Any, name: str, value: Any) -> Any:
        centred = value - value.mean()
        own = centred / jnp.sqrt((centred * centred).mean() + 1e-5)
        return own * held[f"{name}.weight"] + held[f"{name}.bias"]

    def linear(held: Any, name: str, value: Any) -> Any:
        return value @ held[f"{name}.weight"] + held[f"{name}.bias"]

    def step(held: Any, state: Any, token: Any, slot: Any) -> tuple[Any, Any]:
        hidden = (held["wte.weight"][token] + held["wpe.weight"][slot])[None]
        seen, after = jnp.arange(capacity) <= slot, []
        for layer in range(layers):
            name = f"h.{layer}"
            normal = normalized(held, f"{name}.ln_1", hidden)
            query, key, value = linear(held, f"{name}.attn.c_attn", normal).reshape(3, heads, depth)
            keys, values = (
                lax.dynamic_update_slice(cache, own[:, None], (0, slot, 0))
                for cache, own in zip(state[layer], (key, value), strict=True)
            )
            scores = jnp.einsum("hd,hcd->hc", query, keys) / math.sqrt(depth)
            shares = jax.nn.softmax(jnp.where(seen, scores, -1e38), -1)
            attended = jnp.einsum("hc,hcd->hd", shares, values).reshape(1, -1)
            hidden = hidden + linear(held, f"{name}.attn.c_proj", attended)
            normal = normalized(held, f"{name}.ln_2", hidden)
            inner = jax.nn.gelu(linear(held, f"{name}.mlp.c_fc", normal), approximate=True)
            hidden = hidden + linear(held, f"{name}.mlp.c_proj", inner)
            after.append((keys, values))
        return normalized(held, "ln_f", hidden)[0] @ held["wte.weight"].T, after

    return donating(step, weights, caches)
