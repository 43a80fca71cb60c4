"""The gradients of a window product, for its weights and for its input, as recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.engine.catalog.window_product import weights_of
from topos.engine.catalog.windows import Patches, patches_of
from topos.op import Fold, MatMul, Narrow, Permute, Reshape

__all__ = [
    "INPUT_GRADIENT",
    "WEIGHTS_GRADIENT",
    "InputGradient",
    "WeightsGradient",
]


class WeightsGradient(NamedTuple):
    """The patches of the first operand, turned, times the cotangents of the product, the second.

    The result has the features first where `output_first`, as the cotangents have.
    """

    patches: Patches
    output_first: bool


class InputGradient(NamedTuple):
    """The cotangents of a product, the first operand, by the weights, folded where patches lay.

    `axes` are the axes of the result that the windows slide over, in the order of the lanes that
    the product is laid out in; `low` and `extents` are the box of the folded value that is left.
    `order` lays the product, of shape `laid`, out as the windowed value.
    """

    output_first: bool
    rows_first: bool
    laid: tuple[int, ...]
    order: tuple[int, ...]
    folds: tuple[Fold, ...]
    low: tuple[int, ...]
    extents: tuple[int, ...]


def _match_weights(view: View, node: int) -> Iterator[Match]:
    left, right = view.operands(node)
    for operand, cotangents, is_left in ((left, right, True), (right, left, False)):
        for patches in patches_of(view, operand):
            # The contracted axis counts the patches.
            if patches.rows_first is is_left:
                continue
            yield Match(
                PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT,
                node,
                tuple(sorted({*patches.claimed, node})),
                (patches.source, cotangents),
                (node,),
                WeightsGradient(patches, not is_left),
            )


def _match_input(view: View, node: int) -> Iterator[Match]:
    narrow = view.operation(node, Narrow)
    claimed = [] if narrow is None else [node]
    folded = node if narrow is None else view.operands(node)[0]
    folds, inner = _folds(view, folded, claimed)
    if not folds:
        return
    permute = view.operation(inner, Permute)
    if permute is not None:
        claimed.append(inner)
        (inner,) = view.operands(inner)
    if not view.is_a(inner, Reshape):
        return
    laid, (product,) = view.shape(inner), view.operands(inner)
    if not view.is_a(product, MatMul) or len(view.shape(product)) != 2:
        return
    claimed += [inner, product]
    order = tuple(range(len(laid))) if permute is None else permute.axes
    rows_first = _rows_first(order, folds, view.shape(product), laid)
    if rows_first is None:
        return
    shape = view.shape(folded)
    cotangents, weights = view.operands(product)[:: 1 if rows_first else -1]
    for source, output_first, covered in weights_of(view, weights, rows_first):
        yield Match(
            PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT,
            node,
            tuple(sorted({*claimed, *covered})),
            (cotangents, source),
            (node,),
            InputGradient(
                output_first,
                rows_first,
                laid,
                order,
                folds,
                (0,) * len(shape) if narrow is None else narrow.starts,
                shape if narrow is None else narrow.extents,
            ),
        )


def _folds(view: View, node: int, claimed: list[int]) -> tuple[tuple[Fold, ...], int]:
    """Returns the folds that end in `node`, the first to happen first, and what they fold."""
    folds = []
    while (fold := view.operation(node, Fold)) is not None:
        folds.append(fold)
        claimed.append(node)
        (node,) = view.operands(node)
    folds.reverse()
    return tuple(folds), node


def _rows_first(
    order: tuple[int, ...], folds: tuple[Fold, ...], shape: tuple[int, ...], laid: tuple[int, ...]
) -> bool | None:
    """Returns whether the product has a row for each patch; `None` where it has no patches."""
    rank = len(order) - len(folds)
    spatial = sorted(fold.axis for fold in folds)
    others = [axis for axis in range(rank) if axis not in spatial]
    if len(set(spatial)) < len(folds) or len(others) != 2 or spatial[-1] >= rank:
        return None
    # The folds take the lanes from the last on, each for its own axis.
    lanes = {fold.axis: len(order) - 1 - place for place, fold in enumerate(folds)}
    inverse = sorted(range(len(order)), key=order.__getitem__)
    for batch, channel in (others, reversed(others)):
        rows = [batch, *spatial]
        columns = [channel, *(lanes[axis] for axis in spatial)]
        if inverse in ([*rows, *columns], [*columns, *rows]):
            first = inverse == [*rows, *columns]
            cut = len(rows) if first else len(columns)
            count = 1
            for extent in laid[:cut]:
                count *= extent
            return first if count == shape[0] else None
    return None


WEIGHTS_GRADIENT: Final = Pattern((MatMul,), _match_weights)
INPUT_GRADIENT: Final = Pattern((Narrow, Fold), _match_input)
