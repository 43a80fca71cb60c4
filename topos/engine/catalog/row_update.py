"""Row update: a value with the row at a computed place replaced, as a cache takes a new token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.op import Broadcast, BroadcastAlong, Compare, Direction, Leaf, Select


class RowUpdate(NamedTuple):
    """The axis along which one row of the first operand is replaced.

    The operands are the value, the row, which lacks the axis, and its place, an integer without
    axes. Where the place is not within the axis, the value stays as it is.
    """

    axis: int


def _match(view: View, node: int) -> Iterator[Match]:
    mask, spread, value = view.operands(node)
    repeated = view.operation(spread, BroadcastAlong)
    if repeated is None or len(repeated.axes) != 1:
        return
    (axis,) = repeated.axes
    rank = len(view.shape(node))
    others = [each for each in range(rank) if each != axis]
    place = _place(view, mask if rank == 1 else view.spread(mask, others))
    if place is None:
        return
    (row,) = view.operands(spread)
    # The mask may be another update's too: what nobody needs is not computed.
    yield Match(
        PatternKind.ROW_UPDATE, node, (node,), (value, row, place), (node,), RowUpdate(axis)
    )


def _place(view: View, mask: int | None) -> int | None:
    """Returns the number that `mask` compares with the places of an axis, where it does that."""
    if mask is None or view.operation(mask, Compare) != Compare(Direction.EQUAL):
        return None
    for places, other in (view.operands(mask), reversed(view.operands(mask))):
        leaf = view.operation(places, Leaf)
        if leaf is None or leaf.payload is None or not view.is_a(other, Broadcast):
            continue
        (extent,) = leaf.payload.shape
        if leaf.payload.dtype.kind in "iu" and np.array_equal(leaf.payload, np.arange(extent)):
            return view.operands(other)[0]
    return None


ROW_UPDATE: Final = Pattern((Select,), _match)
