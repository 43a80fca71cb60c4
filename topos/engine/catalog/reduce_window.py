"""Reduce window: the maxima of windows, and the gradient that goes to the first of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.engine.catalog.windows import Windows, windows_of
from topos.op import Compare, Direction, Fold, Leaf, MaxAlong, Minimum, Neg, Select
from topos.payload import size


class ReduceWindow(NamedTuple):
    """The windows over `axes` of the source, whose elements are reduced."""

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


def _form(windows: Windows) -> ReduceWindow:
    return ReduceWindow(windows.axes, windows.sizes, windows.steps)


def _match(view: View, node: int) -> Iterator[Match]:
    operation = view.operation(node, MaxAlong)
    assert operation is not None
    (operand,) = view.operands(node)
    windows = windows_of(view, operand)
    if windows is None or operation.axes != _lanes(view, windows):
        return
    yield Match(
        PatternKind.REDUCE_WINDOW,
        node,
        (*windows.claimed, node),
        (windows.source,),
        (node,),
        _form(windows),
    )


def _lanes(view: View, windows: Windows) -> tuple[int, ...]:
    rank = len(view.shape(windows.source))
    return tuple(range(rank, rank + len(windows.axes)))


def _match_gradient(view: View, node: int) -> Iterator[Match]:
    folds, chosen = [], node
    while (fold := view.operation(chosen, Fold)) is not None:
        folds.append(fold)
        (chosen,) = view.operands(chosen)
    if not folds or not view.is_a(chosen, Select):
        return
    mask, spread, zeros = view.operands(chosen)
    found = _first_attained(view, mask)
    if found is None or view.number(zeros) != 0.0:
        return
    windows, output = found
    # The folds take back the unfolds, from the last on.
    undone = [(fold.axis, fold.step) for fold in folds]
    lanes = _lanes(view, windows)
    cotangent = view.spread(spread, lanes)
    if undone != list(zip(windows.axes, windows.steps, strict=True)) or cotangent is None:
        return
    if view.shape(node) != view.shape(windows.source) or windows.source == node:
        return
    ends = {windows.source, output, cotangent}
    yield Match(
        PatternKind.REDUCE_WINDOW_GRADIENT,
        node,
        view.between([node], ends),
        (windows.source, output, cotangent),
        (node,),
        _form(windows),
    )


def _first_attained(view: View, mask: int) -> tuple[Windows, int] | None:
    """Returns the windows and their maxima, where `mask` is the first place of each maximum."""
    if not view.is_a(mask, Minimum):
        return None
    attained, is_first = view.operands(mask)
    pair = _equal(view, attained)
    if pair is None:
        return None
    windows = windows_of(view, pair[0])
    if windows is None:
        return None
    lanes = _lanes(view, windows)
    output = view.spread(pair[1], lanes)
    if output is None or not view.is_a(output, MaxAlong):
        return None
    if view.operation(output, MaxAlong) != MaxAlong(lanes) or view.operands(output) != pair[:1]:
        return None
    candidates = _equal(view, is_first)
    if candidates is None or not _names_first(view, candidates, attained, windows):
        return None
    return windows, output


def _equal(view: View, node: int) -> tuple[int, ...] | None:
    is_equal = view.operation(node, Compare) == Compare(Direction.EQUAL)
    return view.operands(node) if is_equal else None


def _names_first(view: View, candidates: tuple[int, ...], attained: int, windows: Windows) -> bool:
    """Returns whether the candidates are negated positions, compared with their maximum."""
    candidate, spread = candidates
    lanes = _lanes(view, windows)
    first = view.spread(spread, lanes)
    if first is None or view.operands(first) != (candidate,):
        return False
    if view.operation(first, MaxAlong) != MaxAlong(lanes) or not view.is_a(candidate, Select):
        return False
    condition, order, least = view.operands(candidate)
    count = size(windows.sizes)
    if condition != attained or view.number(least) != -count:
        return False
    negated = view.spread(order, range(lanes[0]))
    if negated is None or not view.is_a(negated, Neg):
        return False
    (positions,) = view.operands(negated)
    leaf = view.operation(positions, Leaf)
    if leaf is None or leaf.payload is None:
        return False
    return np.array_equal(leaf.payload.reshape(-1), np.arange(count))


REDUCE_WINDOW: Final = Pattern((MaxAlong,), _match)
REDUCE_WINDOW_GRADIENT: Final = Pattern((Fold,), _match_gradient)
