"""Multi-head attention: projections around the scaled dot product, with a cache for decoding."""

from __future__ import annotations

from typing import NamedTuple

from topos import Tape, Value
from topos.errors import ShapeError
from topos.neural import init
from topos.neural.attention import (
    cache_step,
    causal_mask,
    rotary_embedding,
    scaled_dot_product,
)
from topos.neural.formula import R, count, demand_features, demand_rank, positive
from topos.neural.init import Initializer, demand_initializer
from topos.neural.layers import Linear
from topos.neural.module import Layer


class Cache(NamedTuple):
    """The keys and values of earlier positions, `[batch, groups, capacity, depth]` each."""

    keys: Value
    values: Value


def split_heads(value: R, heads: int) -> R:
    """Returns `[batch, length, heads * depth]` as `[batch, heads, length, depth]`."""
    demand_rank("split_heads", value, "batch, length, features")
    batch, length, features = value.shape
    if features % count("split_heads", "heads", heads):
        raise ShapeError(f"split_heads needs features in {heads} equal parts, got {value.shape}")
    return value.reshape((batch, length, heads, features // heads)).permute((0, 2, 1, 3))


def merge_heads(value: R) -> R:
    """Returns `[batch, heads, length, depth]` as `[batch, length, heads * depth]`."""
    demand_rank("merge_heads", value, "batch, heads, length, depth")
    batch, heads, length, depth = value.shape
    return value.permute((0, 2, 1, 3)).reshape((batch, length, heads * depth))


class MultiHeadAttention(Layer):
    """Self-attention over `[batch, length, features]` (Vaswani et al., 2017, section 3.2.2).

    `query`, `key`, `value` and `output` are `Linear`; they draw by `weights.split(0)` to
    `weights.split(3)`. With fewer `groups` than `heads`, neighbouring heads share keys and
    values (Ainslie et al., 2023). A `causal` module hides later positions; with a `rotary` base,
    queries and keys are turned by their positions.
    """

    def __init__(
        self,
        tape: Tape,
        features: int,
        heads: int,
        *,
        weights: Initializer,
        bias: Initializer | None = init.zeros,
        groups: int | None = None,
        causal: bool = False,
        rotary: float | None = None,
    ) -> None:
        self.features = count("MultiHeadAttention", "features", features)
        self.heads = count("MultiHeadAttention", "heads", heads)
        self.groups = count("MultiHeadAttention", "groups", heads if groups is None else groups)
        if self.features % self.heads or self.heads % self.groups:
            raise ShapeError(
                "MultiHeadAttention needs heads that divide features and groups that divide heads,"
                f" got {features} features, {heads} heads and {self.groups} groups"
            )
        demand_initializer("MultiHeadAttention", weights)
        self.causal = causal
        self.rotary = None if rotary is None else positive("MultiHeadAttention", "a base", rotary)
        shared = self.features // self.heads * self.groups
        self.query, self.key, self.value, self.output = (
            Linear(tape, self.features, outputs, weights=weights.split(place), bias=bias)
            for place, outputs in enumerate((self.features, shared, shared, self.features))
        )

    def express(self, tape: Tape, inputs: Value, mask: Value | None = None) -> Value:
        """Records the attention of every position of `inputs` to all of them.

        The mask is as for `scaled_dot_product`; a causal module takes none, it has its own.
        """
        self._demand_inputs(inputs)
        length = inputs.shape[1]
        if self.causal and mask is not None:
            raise ShapeError(f"a causal attention needs no mask, got one of {mask.shape}")
        if self.causal:
            mask = causal_mask(inputs, length, length)
        queries, keys, values = self._projected(tape, inputs, inputs.iota((length,)))
        return self._answer(tape, queries, keys, values, mask)

    def cache(self, tape: Tape, batch: int, capacity: int, *, name: str | None = None) -> Cache:
        """Records the two inputs of a cache, empty unless fed: `name.keys` and `name.values`."""
        depth = self.features // self.heads
        shape = count("cache", "a batch", batch), self.groups, count("cache", "capacity", capacity)
        empty = init.zeros((*shape, depth), tape.element)
        names = (None, None) if name is None else (f"{name}.keys", f"{name}.values")
        return Cache(*(tape.input(empty, name=each) for each in names))

    def step(self, tape: Tape, inputs: Value, cache: Cache, position: Value) -> tuple[Value, Cache]:
        """Records the attention of new positions to the cache and to themselves.

        `inputs` are `[batch, length, features]`, the first of them at `position`, a rank-0
        integer value. Returns the output and the cache with the new keys and values. Row for row
        it has the bits of a causal `express` over as many positions as the capacity.
        """
        self._demand_inputs(inputs)
        if not self.causal:
            raise ShapeError("step needs a causal attention, got one that sees later positions")
        length, capacity = inputs.shape[1], cache.keys.shape[2]
        mask = causal_mask(inputs, length, capacity, position)
        places = inputs.iota((length,))
        # The mask has checked the position: a rank-0 integer.
        places = places + position.convert(places.element).broadcast((length,))
        queries, keys, values = self._projected(tape, inputs, places)
        grown = Cache(
            cache_step(cache.keys, keys, position), cache_step(cache.values, values, position)
        )
        return self._answer(tape, queries, grown.keys, grown.values, mask), grown

    def _projected(self, tape: Tape, inputs: Value, places: Value) -> tuple[Value, Value, Value]:
        queries = split_heads(self.query.express(tape, inputs), self.heads)
        keys = split_heads(self.key.express(tape, inputs), self.groups)
        values = split_heads(self.value.express(tape, inputs), self.groups)
        if self.rotary is None:
            return queries, keys, values
        queries = rotary_embedding(queries, places, base=self.rotary)
        return queries, rotary_embedding(keys, places, base=self.rotary), values

    def _answer(
        self, tape: Tape, queries: Value, keys: Value, values: Value, mask: Value | None
    ) -> Value:
        attended = scaled_dot_product(queries, keys, values, mask)
        return self.output.express(tape, merge_heads(attended))

    def _demand_inputs(self, inputs: Value) -> None:
        demand_rank("MultiHeadAttention", inputs, "batch, length, features")
        demand_features("MultiHeadAttention", inputs, self.features)
