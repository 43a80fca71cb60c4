"""The catalog: what a plan's nodes amount to, as offers that each consumer elects from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from topos.engine.catalog.attention import ATTENTION
from topos.engine.catalog.batch_norm import BATCH_NORM
from topos.engine.catalog.election import Offers, demanded, elect, pooled
from topos.engine.catalog.pattern import (
    SHARED,
    Match,
    Pattern,
    PatternKind,
    PatternMatch,
    Standing,
)
from topos.engine.catalog.reduce_window import REDUCE_WINDOW, REDUCE_WINDOW_GRADIENT
from topos.engine.catalog.row_update import ROW_UPDATE
from topos.engine.catalog.view import View
from topos.engine.catalog.window_product import WINDOW_PRODUCT
from topos.engine.catalog.window_product_gradient import (
    BIAS_GRADIENT,
    INPUT_GRADIENT,
    WEIGHTS_GRADIENT,
)
from topos.graph import Columns, Symbol

__all__ = [
    "CATALOG",
    "SHARED",
    "Match",
    "Offers",
    "Pattern",
    "PatternKind",
    "PatternMatch",
    "Standing",
    "View",
    "demanded",
    "discover",
    "elect",
    "patterns_of",
]

CATALOG: Final[tuple[Pattern, ...]] = (
    BATCH_NORM,
    WINDOW_PRODUCT,
    WEIGHTS_GRADIENT,
    INPUT_GRADIENT,
    BIAS_GRADIENT,
    REDUCE_WINDOW,
    REDUCE_WINDOW_GRADIENT,
    ATTENTION,
    ROW_UPDATE,
)
"""The patterns, those that win over others first."""


def discover(columns: Columns, order: Sequence[int]) -> Offers:
    """Returns every closed candidate among the nodes of `order`."""
    return pooled(View(columns, order), CATALOG)


def patterns_of(
    columns: Columns,
    order: Sequence[int],
    barriers: Iterable[int],
    fused: Callable[[Match], Standing],
    raised: Callable[[Match], Standing],
) -> tuple[PatternMatch, ...]:
    """Returns what a consumer that supports every pattern elects, as data."""
    claimed: set[int] = set()
    found = []
    for match in elect(discover(columns, order), lambda match: True, barriers):
        own = [node for node in match.claimed if node not in claimed]
        claimed.update(own)
        symbols = [
            tuple(Symbol(columns.origin, node) for node in nodes)
            for nodes in ((match.root,), own, match.results)
        ]
        standings = fused(match), raised(match)
        found.append(PatternMatch(match.kind, symbols[0][0], symbols[1], symbols[2], *standings))
    return tuple(found)
