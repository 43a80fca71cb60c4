"""Scaled dot-product attention over batch and heads, its masks, positions and cache."""

from __future__ import annotations

import math

from topos import bool_, broadcast_to, concat, f32, f64, i32, i64, softmax
from topos.errors import ElementError, ShapeError
from topos.neural.formula import R, count, demand_floating, demand_rank, positive

MASKED = {"f64": -1e300, "f32": -1e38, "bf16": -1e38, "f16": -6e4}
"""What stands for a score that a mask hides: its exponential beside any other is zero.

A finite number, unlike minus infinity, leaves a row that is hidden whole with equal weights.
"""


def scaled_dot_product(queries: R, keys: R, values: R, mask: R | None = None) -> R:
    """Returns `softmax(queries @ keys^T / sqrt(depth)) @ values` for every head.

    Queries are `[batch, heads, length, depth]`, keys and values `[batch, groups, extent, depth]`
    with a depth of the values' own (Vaswani et al., 2017, section 3.2.1); the result is
    `[batch, heads, length, depth]`. Heads are a multiple of groups, and neighbouring heads share
    a group (Ainslie et al., 2023). The bool `mask` `[length, extent]`, or of a shape that fills
    `[batch, heads, length, extent]`, holds where a query sees a key.
    """
    _demand_heads(queries, keys, values)
    batch, heads, length, depth = queries.shape
    groups, extent = keys.shape[1:3]
    # The heads of a group are more rows of one product, so keys are never repeated.
    rows = queries.reshape((batch, groups, heads // groups * length, depth))
    scores = (rows @ keys.transpose()) * (1.0 / math.sqrt(depth))
    if mask is not None:
        spread = _mask_for(mask, (batch, heads, length, extent)).reshape(scores.shape)
        scores = spread.select(scores, MASKED.get(scores.element.name, -math.inf))
    result = softmax(scores, -1) @ values
    return result.reshape((batch, heads, length, values.shape[-1]))


def causal_mask(like: R, queries: int, keys: int, start: R | int = 0) -> R:
    """Returns the bool mask `[queries, keys]` that holds where a key is no later than the query.

    Query `i` stands at position `start + i` and key `j` at `j`; `start` is a number or a rank-0
    integer value. `like` is any value of the recording, or any tensor.
    """
    shape = count("causal_mask", "queries", queries), count("causal_mask", "keys", keys)
    rows = like.iota(shape[:1])
    if isinstance(start, int):
        rows = rows + start
    else:
        rows = rows + _position("causal_mask", start).broadcast(shape[:1])
    places = like.iota(shape[1:]).broadcast_along((0,), shape[:1])
    return places.less_equal(rows.broadcast_along((1,), shape[1:]))


def cache_step(cache: R, new: R, position: R) -> R:
    """Returns `cache` with `new` written from `position` on.

    The cache of keys or values is `[..., capacity, depth]`, `new` is `[..., length, depth]` and
    the position a rank-0 integer value. What would lie outside the capacity is left out.
    """
    shape, length = cache.shape, new.shape[-2] if len(new.shape) > 1 else 0
    if len(shape) < 2 or new.shape != (*shape[:-2], length, shape[-1]) or not length:
        raise ShapeError(
            f"cache_step needs new rows [..., length, depth] beside {shape}, got {new.shape}"
        )
    place = _position("cache_step", position).broadcast(shape[-2:-1])
    axes, extents = [*range(len(shape) - 2), len(shape) - 1], [*shape[:-2], shape[-1]]
    if length == 1:
        # Plans and texts know this form, and update the row alone.
        is_own = cache.iota(shape[-2:-1]).equal(place).broadcast_along(axes, extents)
        return is_own.select(broadcast_to(new, shape), cache)
    offsets = cache.iota(shape[-2:-1]) - place
    is_late = offsets.greater_equal(0).broadcast_along(axes, extents)
    is_early = offsets.less(length).broadcast_along(axes, extents)
    return is_late.select(is_early.select(new.gather(offsets, len(shape) - 2), cache), cache)


def _position(name: str, position: R) -> R:
    if position.shape != () or position.element not in (i32, i64):
        raise ShapeError(f"{name} needs a rank-0 integer position, got {position.type}")
    return position.convert(i64)


def _mask_for(mask: R, shape: tuple[int, int, int, int]) -> R:
    if mask.element is not bool_:
        raise ElementError(f"scaled_dot_product needs a bool mask, got {mask.element}")
    return broadcast_to(mask, shape)


def _demand_heads(queries: R, keys: R, values: R) -> None:
    demand_floating("scaled_dot_product", queries)
    for each in (queries, keys, values):
        demand_rank("scaled_dot_product", each, "batch, heads, length, depth")
    batch, heads, _, depth = queries.shape
    groups = keys.shape[1]
    if keys.shape[:3] != values.shape[:3] or keys.shape[0] != batch or keys.shape[3] != depth:
        raise ShapeError(
            f"scaled_dot_product cannot match queries {queries.shape} with keys {keys.shape}"
            f" and values {values.shape}"
        )
    if not groups or heads % groups:
        raise ShapeError(
            f"scaled_dot_product needs heads that are a multiple of {groups} groups, got {heads}"
        )


def rotary_embedding(value: R, positions: R, *, base: float = 10000.0) -> R:
    """Returns every row of `value` turned by the angles of its position (Su et al., 2021).

    The value is `[..., length, depth]` and the positions are integers `[length]`. Feature `i` of
    the first half pairs with feature `i` of the second, as in the weights of Llama, and turns by
    `position / base ** (2 i / depth)`. Angles, sines and cosines are f32, and f64 for f64.
    """
    demand_floating("rotary_embedding", value)
    if len(value.shape) < 2 or value.shape[-1] % 2 or not value.shape[-1]:
        raise ShapeError(
            f"rotary_embedding needs [..., length, depth] of an even depth, got {value.shape}"
        )
    if positions.shape != value.shape[-2:-1]:
        raise ShapeError(
            f"rotary_embedding needs positions {value.shape[-2:-1]} beside {value.shape},"
            f" got {positions.shape}"
        )
    half, leading = value.shape[-1] // 2, value.shape[:-2]
    angles = _angles(value, positions, positive("rotary_embedding", "a base", base))
    cosines, sines = (
        turn.convert(value.element).broadcast_along(range(len(leading)), leading)
        for turn in (angles.cos(), angles.sin())
    )
    first, second = value.narrow(-1, 0, half), value.narrow(-1, half, half)
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return concat(turned, -1)


def _angles(value: R, positions: R, base: float) -> R:
    """Returns the angles `[length, depth / 2]`."""
    length, depth = value.shape[-2:]
    # Narrow elements do not hold the angles of a few hundred positions.
    element = f64 if value.element is f64 else f32
    exponents = value.iota((depth // 2,)).convert(element) * (2.0 / depth)
    frequencies = (1.0 / base**exponents).broadcast_along((0,), (length,))
    return positions.convert(element).broadcast_along((1,), (depth // 2,)) * frequencies
