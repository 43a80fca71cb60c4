"""Mistakes with attention: class, whole message, and the user's own line."""

from __future__ import annotations

import pytest

from tests.neural.mistakes import Mistake, demand_told, named
from tests.project.bad_input import Bad
from topos import errors, init
from topos.neural import (
    Cache,
    MultiHeadAttention,
    cache_step,
    causal_mask,
    rotary_embedding,
    scaled_dot_product,
    split_heads,
)

XAVIER = init.xavier(1)
ATTENTION = "MultiHeadAttention needs heads that divide features and groups that divide heads,"
MESSAGES: list[Mistake] = [
    (
        errors.ShapeError,
        "scaled_dot_product cannot match queries (2, 4, 5, 6) with keys (2, 3, 6, 6)"
        " and values (2, 2, 6, 6)",
        lambda r: scaled_dot_product(r.heads, r.images, r.images.narrow(1, 0, 2)),
    ),
    (
        errors.ShapeError,
        "scaled_dot_product needs heads that are a multiple of 3 groups, got 4",
        lambda r: scaled_dot_product(r.heads, r.images, r.images),
    ),
    (
        errors.ElementError,
        "scaled_dot_product needs a bool mask, got f32",
        lambda r: scaled_dot_product(r.heads, r.heads, r.heads, r.heads),
    ),
    (
        errors.ShapeError,
        "broadcast_to cannot spread (5, 4) over (2, 4, 5, 5)",
        lambda r: scaled_dot_product(r.heads, r.heads, r.heads, causal_mask(r.heads, 5, 4)),
    ),
    (
        errors.ShapeError,
        "causal_mask needs a rank-0 integer position, got i64[4]",
        lambda r: causal_mask(r.rows, 4, 4, r.labels),
    ),
    (
        errors.ShapeError,
        "cache_step needs new rows [..., length, depth] beside (2, 4, 5, 6), got (4, 3)",
        lambda r: cache_step(r.heads, r.rows, r.none),
    ),
    (
        errors.ShapeError,
        "rotary_embedding needs [..., length, depth] of an even depth, got (4, 3)",
        lambda r: rotary_embedding(r.rows, r.labels),
    ),
    (
        errors.ShapeError,
        "rotary_embedding needs positions (5,) beside (2, 4, 5, 6), got (4,)",
        lambda r: rotary_embedding(r.heads, r.labels),
    ),
    (
        errors.ShapeError,
        "split_heads needs features in 2 equal parts, got (1, 4, 3)",
        lambda r: split_heads(r.rows.reshape((1, 4, 3)), 2),
    ),
    (
        errors.ShapeError,
        f"{ATTENTION} got 8 features, 3 heads and 3 groups",
        lambda r: MultiHeadAttention(r.tape, 8, 3, weights=XAVIER),
    ),
    (
        errors.ShapeError,
        "a causal attention needs no mask, got one of (4,)",
        lambda r: MultiHeadAttention(r.tape, 3, 1, weights=XAVIER, causal=True).express(
            r.tape, r.rows.reshape((1, 4, 3)), r.labels
        ),
    ),
    (
        errors.ShapeError,
        "step needs a causal attention, got one that sees later positions",
        lambda r: MultiHeadAttention(r.tape, 3, 1, weights=XAVIER).step(
            r.tape, r.rows.reshape((1, 4, 3)), Cache(r.heads, r.heads), r.none
        ),
    ),
]


@pytest.mark.parametrize("bad", named(MESSAGES), ids=lambda bad: bad.name)
def test_a_mistake_is_told_at_the_users_line(bad: Bad) -> None:
    demand_told(bad, __name__)
