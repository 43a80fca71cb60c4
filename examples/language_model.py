"""Language models over a cache: a prompt read in one call, then one token a call.

A model says what its blocks compute; how they attend to earlier tokens is the same for all, and
stands here. Prompts of one batch end together: shorter ones have padding before them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from topos import (
    Cache,
    Module,
    Tape,
    Value,
    Visitor,
    broadcast_to,
    cache_step,
    concat,
    f32,
    f64,
    softmax,
)

__all__ = ["Block", "Heads", "Language", "merged", "read", "split", "step"]

# Its exponential beside any other score is zero, and a row that is hidden whole has no NaN.
HIDDEN: Final = -1e38


class Heads(NamedTuple):
    """Queries `[batch, heads, length, depth]`, keys and values `[batch, groups, length, depth]`."""

    queries: Value
    keys: Value
    values: Value


class Seen(NamedTuple):
    """Which places of the caches a token sees, `[batch, capacity]`, and where it is written.

    Without a slot it is written nowhere, and sees itself beside the caches.
    """

    mask: Value
    slot: Value | None


class Block(ABC):
    """One layer: what comes before and after its attention."""

    @abstractmethod
    def heads(self, tape: Tape, hidden: Value, turns: Any) -> Heads:
        """Records the queries, keys and values of `hidden`, turned by their positions."""

    @abstractmethod
    def after(self, tape: Tape, hidden: Value, attended: Value) -> Value:
        """Records what the layer makes of `hidden` and `[batch, heads, length, depth]`."""

    def express(self, tape: Tape, hidden: Value, turns: Any, mask: Value) -> tuple[Value, Cache]:
        """Records the layer over whole texts, under a mask `[batch, length, length]`."""
        heads = self.heads(tape, hidden, turns)
        return self.after(tape, hidden, _attend(heads, mask)), Cache(heads.keys, heads.values)

    def step(
        self, tape: Tape, hidden: Value, turns: Any, cache: Cache, seen: Seen
    ) -> tuple[Value, Cache]:
        """Records the layer over one token, which sees some places of a cache, and itself.

        Returns the rows of the token, or, where `seen` has a slot, the caches with them there.
        """
        heads = self.heads(tape, hidden, turns)
        rows = Cache(_flat(heads.keys), _flat(heads.values))
        if seen.slot is None:
            return self.after(tape, hidden, _attend_beside(heads, rows, cache, seen.mask)), rows
        slot = seen.slot
        grown = Cache(*(cache_step(own, row, slot) for own, row in zip(cache, rows, strict=True)))
        return self.after(tape, hidden, _attend_within(heads, grown, seen.mask)), grown

    def visit(self, visitor: Visitor) -> None:
        """Visits the modules under the names of the attributes."""
        _visit(self, visitor)


class Language(ABC):
    """A model of the token that follows: an embedding, blocks, and the logits of what they give."""

    groups: int
    depth: int
    blocks: Sequence[Block]

    @abstractmethod
    def embed(self, tape: Tape, tokens: Value, places: Value) -> tuple[Value, Any]:
        """Records tokens at positions, `[batch, length]` both, and what turns heads there."""

    @abstractmethod
    def logits(self, tape: Tape, hidden: Value) -> Value:
        """Records `[..., features]` to `[..., vocabulary]`."""

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records tokens `[batch, length]` to logits `[batch, length, vocabulary]`."""
        places = broadcast_to(tokens.iota(tokens.shape[1:]), tokens.shape)
        hidden, _ = _read(tape, self, tokens, places, _causal(places, None))
        return self.logits(tape, hidden)

    def visit(self, visitor: Visitor) -> None:
        """Visits the tables and norms, then the blocks."""
        _visit(self, visitor)
        visitor.children("blocks", self.blocks)


def read(
    tape: Tape, model: Language, tokens: Value, pads: Value, capacity: int
) -> tuple[Value, list[Cache]]:
    """Records prompts `[batch, length]` that begin after `pads` `[batch]` tokens of padding.

    Returns the logits of what follows `[batch, vocabulary]` in f32, and caches of a capacity.
    """
    batch, length = tokens.shape
    slots = broadcast_to(tokens.iota((length,)), (batch, length))
    starts = pads.broadcast_along((1,), (length,))
    mask = _causal(slots, starts)
    hidden, kept = _read(tape, model, tokens, (slots - starts).maximum(0), mask)
    last = hidden.narrow(1, length - 1, 1).reshape((batch, hidden.shape[-1]))
    low, high = (0, 0, 0), (0, capacity - length, 0)
    caches = [Cache(*(_flat(each).pad(low, high) for each in own)) for own in kept]
    return model.logits(tape, last).convert(f32), caches


def step(
    tape: Tape,
    model: Language,
    tokens: Value,
    pads: Value,
    slot: Value,
    caches: Sequence[Cache],
    *,
    writes: bool,
) -> tuple[Value, list[Cache]]:
    """Records one more token `[batch, 1]`, whose place in the caches is the rank-0 `slot`.

    Caches are `[batch * groups, capacity, depth]`. Returns the logits `[batch, vocabulary]` in
    f32, and the caches with the token in them; without `writes` only its rows
    `[batch * groups, 1, depth]`, for a caller who writes them into arrays of its own.
    """
    batch, capacity = tokens.shape[0], caches[0].keys.shape[1]
    places = (slot.broadcast((batch,)) - pads).reshape((batch, 1))
    slots = broadcast_to(tokens.iota((capacity,)), (batch, capacity))
    last = slot.broadcast((batch, capacity))
    is_early = slots.less_equal(last) if writes else slots.less(last)
    is_own = slots.greater_equal(pads.broadcast_along((1,), (capacity,)))
    seen = Seen(is_own.select(is_early, slots.less(0)), slot if writes else None)
    hidden, turns = model.embed(tape, tokens, places)
    after = []
    for block, cache in zip(model.blocks, caches, strict=True):
        hidden, own = block.step(tape, hidden, turns, cache, seen)
        after.append(own)
    final = hidden.reshape((batch, hidden.shape[-1]))
    return model.logits(tape, final).convert(f32), after


def split(value: Value, heads: int) -> Value:
    """Returns `[batch, length, heads * depth]` as `[batch, heads, length, depth]`."""
    batch, length, features = value.shape
    depth = features // heads
    if length == 1:
        # The same elements follow each other.
        return value.reshape((batch, heads, 1, depth))
    return value.reshape((batch, length, heads, depth)).permute((0, 2, 1, 3))


def merged(value: Value) -> Value:
    """Returns `[batch, heads, length, depth]` as `[batch, length, heads * depth]`."""
    batch, heads, length, depth = value.shape
    ordered = value if length == 1 else value.permute((0, 2, 1, 3))
    return ordered.reshape((batch, length, heads * depth))


def _visit(module: Block | Language, visitor: Visitor) -> None:
    for name, part in vars(module).items():
        if isinstance(part, Module):
            visitor.child(name, part)


def _read(
    tape: Tape, model: Language, tokens: Value, places: Value, mask: Value
) -> tuple[Value, list[Cache]]:
    """Records all blocks over whole texts; returns their last output, and keys and values."""
    hidden, turns = model.embed(tape, tokens, places)
    kept = []
    for block in model.blocks:
        hidden, own = block.express(tape, hidden, turns, mask)
        kept.append(own)
    return hidden, kept


def _causal(slots: Value, starts: Value | None) -> Value:
    """Returns the bool mask `[batch, length, length]` of the keys that each query sees."""
    length = slots.shape[1]
    queries = slots.broadcast_along((2,), (length,))
    keys = slots.broadcast_along((1,), (length,))
    is_early = keys.less_equal(queries)
    if starts is None:
        return is_early
    is_own = keys.greater_equal(starts.broadcast_along((1,), (length,)))
    return is_own.select(is_early, keys.less(0))


def _attend(heads: Heads, mask: Value) -> Value:
    """Returns the attention of whole texts under a mask `[batch, length, length]`."""
    batch, count, length, depth = heads.queries.shape
    groups = heads.keys.shape[1]
    # The heads of a group are more rows of one product, so keys are never repeated.
    rows = heads.queries.reshape((batch, groups, count // groups * length, depth))
    scores = _scores(rows, heads.keys)
    spread = mask.broadcast_along((1, 2), (groups, count // groups)).reshape(scores.shape)
    shares = _shares(spread.select(scores, HIDDEN), heads.values)
    return (shares @ heads.values).reshape(heads.queries.shape)


def _attend_beside(heads: Heads, rows: Cache, cache: Cache, mask: Value) -> Value:
    """Returns the attention of one token to the places of a cache that it sees, and to itself."""
    queries, capacity = _grouped(heads), cache.keys.shape[1]
    earlier = _spread(mask, queries, heads).select(_scores(queries, cache.keys), HIDDEN)
    shares = _shares(concat([earlier, _scores(queries, rows.keys)], -1), rows.values)
    attended = shares.narrow(-1, 0, capacity) @ cache.values
    own = shares.narrow(-1, capacity, 1) @ rows.values
    return (attended + own).reshape(heads.queries.shape)


def _attend_within(heads: Heads, cache: Cache, mask: Value) -> Value:
    """Returns the attention of one token to the places of a cache that it sees."""
    queries = _grouped(heads)
    scores = _spread(mask, queries, heads).select(_scores(queries, cache.keys), HIDDEN)
    return (_shares(scores, cache.values) @ cache.values).reshape(heads.queries.shape)


def _grouped(heads: Heads) -> Value:
    """Returns the queries of one token by groups, `[batch * groups, heads of a group, depth]`."""
    batch, count, _, depth = heads.queries.shape
    groups = heads.keys.shape[1]
    return heads.queries.reshape((batch * groups, count // groups, depth))


def _spread(mask: Value, queries: Value, heads: Heads) -> Value:
    """Returns a mask `[batch, capacity]` for the scores of every query."""
    shape = *queries.shape[:2], mask.shape[1]
    return mask.broadcast_along((1, 2), (heads.keys.shape[1], shape[1])).reshape(shape)


def _flat(value: Value) -> Value:
    """Returns `[batch, groups, length, depth]` as `[batch * groups, length, depth]`.

    XLA merges these axes for a product. Where it had to merge those of a cache, it would copy it.
    """
    batch, groups, length, depth = value.shape
    return value.reshape((batch * groups, length, depth))


def _scores(rows: Value, keys: Value) -> Value:
    """Returns the scaled products of rows and keys; a narrow element is widened for the softmax."""
    scores = (rows @ keys.transpose()) * (1.0 / math.sqrt(rows.shape[-1]))
    return scores if scores.element in (f32, f64) else scores.convert(f32)


def _shares(scores: Value, values: Value) -> Value:
    shares = softmax(scores, -1)
    return shares if shares.element is values.element else shares.convert(values.element)
