"""Window product: a convolution recorded as a matrix product of patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.engine.catalog.windows import Patches, patches_of
from topos.op import Add, MatMul, Permute, Reshape


class WindowProduct(NamedTuple):
    """The patches of the first operand times the weights, the second; a bias may be the third.

    The weights are a matrix, or what reshapes to one: features first where `output_first`, else
    patch elements first. `order` are the axes of the result, among batch (0), feature (1) and
    the spatial ones; where `is_flat`, batch and the spatial axes are one axis of the result.
    """

    patches: Patches
    output_first: bool
    features: int
    order: tuple[int, ...]
    is_flat: bool
    has_bias: bool


class _Stage(NamedTuple):
    """A place where the result of a window product may be read."""

    node: int
    order: tuple[int, ...]
    is_flat: bool
    bias: int | None
    claimed: tuple[int, ...]


def _match(view: View, node: int) -> Iterator[Match]:
    left, right = view.operands(node)
    for operand, weights, rows_first in ((left, right, True), (right, left, False)):
        for patches in patches_of(view, operand):
            if patches.rows_first is not rows_first:
                continue
            yield from _offers(view, node, patches, weights)
            return


def _offers(view: View, node: int, patches: Patches, weights: int) -> Iterator[Match]:
    """Yields every extent of the match: its end, its weights and its padding, largest first."""
    rows_first = patches.rows_first
    operand = view.operands(node)[0 if rows_first else 1]
    features = view.shape(weights)[1 if rows_first else 0]
    for stage in reversed(list(_stages(view, node, patches))):
        for source, output_first, claimed in weights_of(view, weights, not rows_first):
            for read in patches_of(view, operand):
                form = WindowProduct(
                    read,
                    output_first,
                    features,
                    stage.order,
                    stage.is_flat,
                    stage.bias is not None,
                )
                bias = () if stage.bias is None else (stage.bias,)
                nodes = {*read.claimed, *claimed, *stage.claimed}
                yield Match(
                    PatternKind.WINDOW_PRODUCT,
                    stage.node,
                    tuple(sorted(nodes)),
                    (read.source, source, *bias),
                    (stage.node,),
                    form,
                )


def weights_of(
    view: View, node: int, output_first: bool
) -> Iterator[tuple[int, bool, tuple[int, ...]]]:
    """Yields readings of a weight matrix: the operand, whether features lead, what is covered."""
    turned = view.turned(node)
    matrix = node if turned is None else turned
    first = output_first if turned is None else not output_first
    covered = () if turned is None else (node,)
    if view.is_a(matrix, Reshape):
        (stack,) = view.operands(matrix)
        # Only the axis of the features stays; the others are one axis of patch elements.
        kept = (0, 0) if first else (-1, 1)
        if view.shape(stack) and view.shape(stack)[kept[0]] == view.shape(matrix)[kept[1]]:
            yield stack, first, (*covered, matrix)
    if turned is not None:
        yield matrix, first, covered
    yield node, output_first, ()


def _stages(view: View, node: int, patches: Patches) -> Iterator[_Stage]:
    """Yields the product and then each step that only lays it out or adds the bias."""
    spatial = tuple(range(2, 2 + len(patches.spatial)))
    order = (0, *spatial, 1) if patches.rows_first else (1, 0, *spatial)
    stage: _Stage | None = _Stage(node, order, True, None, (node,))
    while stage is not None:
        yield stage
        stage = _next(view, stage, patches)


def _next(view: View, stage: _Stage, patches: Patches) -> _Stage | None:
    uses = view.uses(stage.node)
    if len(uses) != 1:
        return None
    (use,) = uses
    if view.is_a(use, Add):
        return _biased(view, stage, use)
    grown = stage._replace(node=use, claimed=(*stage.claimed, use))
    permute = view.operation(use, Permute)
    if permute is not None and not stage.is_flat:
        return grown._replace(order=tuple(stage.order[axis] for axis in permute.axes))
    if view.is_a(use, Reshape) and stage.is_flat and view.shape(use) == _laid(view, stage, patches):
        return grown._replace(is_flat=False)
    return None


def _biased(view: View, stage: _Stage, use: int) -> _Stage | None:
    """Returns the stage after a sum, in either order, with a number for each feature."""
    rank = len(view.shape(use))
    axis = (stage.order[0] != 1) * 1 if stage.is_flat else stage.order.index(1)
    left, right = view.operands(use)
    spread = right if left == stage.node else left
    bias = view.spread(spread, [other for other in range(rank) if other != axis])
    if bias is None or stage.bias is not None:
        return None
    return stage._replace(node=use, bias=bias, claimed=(*stage.claimed, spread, use))


def _laid(view: View, stage: _Stage, patches: Patches) -> tuple[int, ...]:
    """Returns the shape of a result whose axes have the order of `stage`."""
    rows, columns = view.shape(stage.node)
    features = columns if patches.rows_first else rows
    batch = view.shape(patches.source)[patches.batch]
    extents = (batch, features, *patches.counts)
    return tuple(extents[axis] for axis in stage.order)


WINDOW_PRODUCT: Final = Pattern((MatMul,), _match)
