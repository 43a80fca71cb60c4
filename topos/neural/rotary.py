"""Rotary position embedding: pairs of features turned by an angle that grows with position."""

from __future__ import annotations

from topos import concat, f32, f64
from topos.errors import ShapeError
from topos.neural.formula import R, demand_floating, positive

__all__ = ["rotary_embedding"]


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
