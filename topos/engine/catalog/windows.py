"""Reading the windows that patterns slide over a value: chains of `unfold`, and their products."""

from __future__ import annotations

import math
from typing import NamedTuple

from topos.engine.catalog.view import View
from topos.op import Pad, Permute, Reshape, Unfold


class Windows(NamedTuple):
    """Windows over some axes of a value: `axes[i]` has windows of `sizes[i]` each `steps[i]`.

    The windowed value has the axes of the source, which count windows, and then an axis of
    `sizes[i]` for each of `axes`, in their order.
    """

    source: int
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    claimed: tuple[int, ...]


class Patches(NamedTuple):
    """The windows of a batch of images as a matrix, a row each where `rows_first`, else a column.

    A patch runs through channels, slowest, and then through the window in the order of the
    spatial axes. `low` and `high` are the zeros around the source on every axis. The axes are
    those of the source, `counts` the windows along each spatial one.
    """

    source: int
    batch: int
    channel: int
    spatial: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    counts: tuple[int, ...]
    rows_first: bool
    claimed: tuple[int, ...]


def windows_of(view: View, node: int) -> Windows | None:
    """Returns the windows that `node` is, unfolded one axis after another."""
    chain, claimed = [], []
    while (unfold := view.operation(node, Unfold)) is not None:
        chain.append(unfold)
        claimed.append(node)
        (node,) = view.operands(node)
    chain.reverse()
    axes = tuple(unfold.axis for unfold in chain)
    if not chain or len(set(axes)) < len(axes) or max(axes) >= len(view.shape(node)):
        return None
    return Windows(
        node,
        axes,
        tuple(unfold.size for unfold in chain),
        tuple(unfold.step for unfold in chain),
        tuple(reversed(claimed)),
    )


def patches_of(view: View, node: int) -> list[Patches]:
    """Returns the readings of `node` as patches: with the zeros around the source, then without."""
    turned = view.turned(node)
    if turned is not None and not view.is_a(turned, Reshape):
        turned = None
    matrix = node if turned is None else turned
    claims = (node,) if turned is None else (turned, node)
    if not view.is_a(matrix, Reshape) or len(view.shape(matrix)) != 2:
        return []
    (laid,) = view.operands(matrix)
    permute = view.operation(laid, Permute)
    windowed = laid if permute is None else view.operands(laid)[0]
    windows = windows_of(view, windowed)
    if windows is None:
        return []
    order = permute.axes if permute is not None else tuple(range(len(view.shape(windowed))))
    found = _ordered(view, windows, order, view.shape(matrix))
    if found is None:
        return []
    if permute is not None:
        claims = (laid, *claims)
    plain = found._replace(
        rows_first=found.rows_first is (turned is None),
        claimed=(*found.claimed, *claims),
    )
    padded = _padded(view, plain)
    return [plain] if padded is None else [padded, plain]


def _ordered(
    view: View, windows: Windows, order: tuple[int, ...], shape: tuple[int, ...]
) -> Patches | None:
    """Returns the patches whose axes have `order`, where that is one of the two known."""
    source, rank = view.shape(windows.source), len(view.shape(windows.source))
    others = [axis for axis in range(rank) if axis not in windows.axes]
    if len(others) != 2:
        return None
    spatial = tuple(sorted(windows.axes))
    places = [windows.axes.index(axis) for axis in spatial]
    sizes = tuple(windows.sizes[place] for place in places)
    steps = tuple(windows.steps[place] for place in places)
    counts = tuple(
        (source[axis] - size) // step + 1
        for axis, size, step in zip(spatial, sizes, steps, strict=True)
    )
    zeros = (0,) * rank
    for batch, channel in (others, reversed(others)):
        rows, columns = (batch, *spatial), (channel, *(rank + place for place in places))
        if order not in ((*rows, *columns), (*columns, *rows)):
            continue
        rows_first = order == (*rows, *columns)
        extents = (source[batch] * math.prod(counts), source[channel] * math.prod(sizes))
        if shape != (extents if rows_first else extents[::-1]):
            return None
        axes = (batch, channel, spatial)
        around = (zeros, zeros)
        return Patches(
            windows.source, *axes, sizes, steps, *around, counts, rows_first, windows.claimed
        )
    return None


def _padded(view: View, patches: Patches) -> Patches | None:
    """Returns `patches` of what is inside the zeros around their source, where there are some."""
    pad = view.operation(patches.source, Pad)
    if pad is None or any(
        pad.low[axis] or pad.high[axis] for axis in (patches.batch, patches.channel)
    ):
        return None
    return patches._replace(
        source=view.operands(patches.source)[0],
        low=pad.low,
        high=pad.high,
        claimed=(patches.source, *patches.claimed),
    )
