"""Language models over a cache: a prompt read in one call, then one token a call.

A model says what its blocks compute; how they attend to earlier tokens is the same for all, and
stands here. Prompts of one batch end together: shorter ones have padding before them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from topos import Cache, Module, Tape, Value, Visitor, broadcast_to, concat, f32, f64, softmax

__all__ = ["Block", "Heads", "Language", "merged", "read", "split", "step", "written"]

# Its exponential beside any other score is zero, and a row that is hidden whole has no NaN.
HIDDEN: Final = -1e38


class Heads(NamedTuple):
    """Queries `[batch, heads, length, depth]`, keys and values `[batch, groups, length, depth]`."""

    queries: Value
    keys: Value
    values: Value


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
        self, tape: Tape, hidden: Value, turns: Any, cache: Cache, seen: Value
    ) -> tuple[Value, Cache]:
        """Records the layer over one token, which sees some places of a cache, and itself."""
        heads = self.heads(tape, hidden, turns)
        attended = _attend_one(heads, cache, seen)
        return self.after(tape, hidden, attended), Cache(heads.keys, heads.values)

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

    Returns the logits of what follows `[batch, vocabulary]` in f32, and caches of `capacity`.
    """
    batch, length = tokens.shape
    slots = broadcast_to(tokens.iota((length,)), (batch, length))
    starts = pads.broadcast_along((1,), (length,))
    mask = _causal(slots, starts)
    hidden, kept = _read(tape, model, tokens, (slots - starts).maximum(0), mask)
    last = hidden.narrow(1, length - 1, 1).reshape((batch, hidden.shape[-1]))
    low, high = (0, 0, 0, 0), (0, 0, capacity - length, 0)
    caches = [Cache(own.keys.pad(low, high), own.values.pad(low, high)) for own in kept]
    return model.logits(tape, last).convert(f32), caches


def step(
    tape: Tape, model: Language, tokens: Value, pads: Value, slot: Value, caches: Sequence[Cache]
) -> tuple[Value, list[Cache]]:
    """Records one more token `[batch, 1]`, whose place in the caches is the rank-0 `slot`.

    Returns the logits `[batch, vocabulary]` in f32, and the rows `[batch, groups, 1, depth]` that
    belong to that place.
    """
    batch, capacity = tokens.shape[0], caches[0].keys.shape[2]
    places = (slot.broadcast((batch,)) - pads).reshape((batch, 1))
    slots = broadcast_to(tokens.iota((capacity,)), (batch, capacity))
    is_read = slots.less(slot.broadcast((batch, capacity)))
    is_own = slots.greater_equal(pads.broadcast_along((1,), (capacity,)))
    seen = is_own.select(is_read, slots.less(0))
    hidden, turns = model.embed(tape, tokens, places)
    rows = []
    for block, cache in zip(model.blocks, caches, strict=True):
        hidden, row = block.step(tape, hidden, turns, cache, seen)
        rows.append(row)
    last = hidden.reshape((batch, hidden.shape[-1]))
    return model.logits(tape, last).convert(f32), rows


def written(cache: Value, row: Value, slot: Value) -> Value:
    """Returns a cache `[batch, groups, capacity, depth]` with the rows of one place in it."""
    batch, groups, capacity, depth = cache.shape
    place = cache.iota((capacity,)).equal(slot.broadcast((capacity,)))
    spread = place.broadcast_along((0, 1, 3), (batch, groups, depth))
    return spread.select(broadcast_to(row, cache.shape), cache)


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


def _attend_one(heads: Heads, cache: Cache, seen: Value) -> Value:
    """Returns the attention of one token to the places of a cache that it sees, and to itself."""
    batch, count, _, depth = heads.queries.shape
    groups, capacity = cache.keys.shape[1:3]
    rows = heads.queries.reshape((batch, groups, count // groups, depth))
    earlier = _scores(rows, cache.keys)
    spread = seen.broadcast_along((1, 2), (groups, count // groups))
    scores = concat([spread.select(earlier, HIDDEN), _scores(rows, heads.keys)], -1)
    shares = _shares(scores, heads.values)
    attended = shares.narrow(-1, 0, capacity) @ cache.values
    own = shares.narrow(-1, capacity, 1) @ heads.values
    return (attended + own).reshape(heads.queries.shape)


def _scores(rows: Value, keys: Value) -> Value:
    """Returns the scaled products of rows and keys; a narrow element is widened for the softmax."""
    scores = (rows @ keys.transpose()) * (1.0 / math.sqrt(rows.shape[-1]))
    return scores if scores.element in (f32, f64) else scores.convert(f32)


def _shares(scores: Value, values: Value) -> Value:
    shares = softmax(scores, -1)
    return shares if shares.element is values.element else shares.convert(values.element)
