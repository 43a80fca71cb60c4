"""The gradients of a window product, as recorded: for its weights, its input and its bias."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.engine.catalog.window_product import weights_of
from topos.engine.catalog.windows import Patches, patches_of
from topos.op import Fold, MatMul, Narrow, Permute, Reshape, SumAlong
from topos.payload import Shape


class WeightsGradient(NamedTuple):
    """The patches of the first operand, turned, times the cotangents of the product, the second.

    The result has the features first where `output_first`, as the cotangents have: they are a
    matrix, or, where there are `axes`, what becomes one when permuted so and reshaped.
    """

    patches: Patches
    output_first: bool
    axes: tuple[int, ...] | None


class Places(NamedTuple):
    """Where the product of an input's gradient lies: axes of the folded value, and extents.

    `spatial` axes, `sizes` of the windows, `counts` of windows and `extents` folded to correspond.
    """

    batch: int
    channel: int
    spatial: tuple[int, ...]
    images: int
    features: int
    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    extents: tuple[int, ...]


class InputGradient(NamedTuple):
    """The cotangents of a product, the first operand, by the weights, folded where patches lay.

    The cotangents have a row for each patch where `rows_first`, else a column, and `axes` as in
    `WeightsGradient`. `folds` are in the order in which they happen; the box of `kept` extents
    that begins at `low` is left: it is whole along the batch and the channels.
    """

    places: Places
    output_first: bool
    rows_first: bool
    axes: tuple[int, ...] | None
    folds: tuple[Fold, ...]
    low: tuple[int, ...]
    kept: tuple[int, ...]


class BiasGradient(NamedTuple):
    """The sum of maps over every axis but that of the features."""

    feature: int


def _match_weights(view: View, node: int) -> Iterator[Match]:
    left, right = view.operands(node)
    for operand, cotangents, is_left in ((left, right, True), (right, left, False)):
        for patches in patches_of(view, operand):
            # The contracted axis counts the patches.
            if patches.rows_first is is_left:
                continue
            images = view.shape(patches.source)[patches.batch]
            for maps in _maps(view, cotangents, is_left, (images, *patches.counts)):
                yield Match(
                    PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT,
                    node,
                    tuple(sorted({*patches.claimed, *maps.claimed, node})),
                    (patches.source, maps.operand),
                    (node,),
                    WeightsGradient(patches, not is_left, maps.axes),
                )


class _Maps(NamedTuple):
    """A reading of the cotangents of a product."""

    operand: int
    axes: tuple[int, ...] | None
    claimed: tuple[int, ...]


def _maps(view: View, matrix: int, rows_first: bool, places: Shape) -> Iterator[_Maps]:
    """Yields what `matrix` was permuted and reshaped from, where it was, and then itself."""
    if view.is_a(matrix, Reshape):
        (laid,) = view.operands(matrix)
        permute, shape = view.operation(laid, Permute), view.shape(laid)
        if permute is not None and places == (shape[:-1] if rows_first else shape[1:]):
            yield _Maps(view.operands(laid)[0], permute.axes, (laid, matrix))
    yield _Maps(matrix, None, ())


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
    laid, shape = view.shape(inner), view.shape(folded)
    if not view.is_a(inner, Reshape) or not view.is_a(view.operands(inner)[0], MatMul):
        return
    (product,) = view.operands(inner)
    order = tuple(range(len(laid))) if permute is None else permute.axes
    found = _places(order, laid, shape, folds, view.shape(product))
    if found is None:
        return
    places, rows_first = found
    cotangents, weights = view.operands(product)[:: 1 if rows_first else -1]
    features = view.shape(weights)[0 if rows_first else 1]
    places = places._replace(features=features)
    low = (0,) * len(shape) if narrow is None else narrow.starts
    kept = shape if narrow is None else narrow.extents
    if any(kept[axis] != shape[axis] for axis in (places.batch, places.channel)):
        # A gradient is cut along the spatial axes alone; the folds are offered without the cut.
        return
    for maps in _maps(view, cotangents, rows_first, (places.images, *places.counts)):
        for source, output_first, covered in weights_of(view, weights, rows_first):
            yield Match(
                PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT,
                node,
                tuple(sorted({*claimed, inner, product, *covered, *maps.claimed})),
                (maps.operand, source),
                (node,),
                InputGradient(places, output_first, rows_first, maps.axes, folds, low, kept),
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


def _places(
    order: tuple[int, ...], laid: Shape, folded: Shape, folds: tuple[Fold, ...], product: Shape
) -> tuple[Places, bool] | None:
    """Returns the places, and whether the product has a row for each patch, where it has patches.

    The product is a matrix of shape `product`, `laid` out and then permuted by `order`.
    """
    rank = len(order) - len(folds)
    spatial = tuple(sorted(fold.axis for fold in folds))
    others = [axis for axis in range(rank) if axis not in spatial]
    if len(set(spatial)) < len(folds) or len(others) != 2 or spatial[-1] >= rank:
        return None
    # The folds take the lanes from the last on, each for its own axis.
    lanes = {fold.axis: len(order) - 1 - place for place, fold in enumerate(folds)}
    inverse = sorted(range(len(order)), key=order.__getitem__)
    for batch, channel in (others, reversed(others)):
        rows = [batch, *spatial]
        columns = [channel, *(lanes[axis] for axis in spatial)]
        if inverse not in ([*rows, *columns], [*columns, *rows]):
            continue
        rows_first = inverse == [*rows, *columns]
        extents = [math.prod(laid[order[axis]] for axis in part) for part in (rows, columns)]
        if product != tuple(extents if rows_first else reversed(extents)):
            return None
        sizes = tuple(laid[order[lanes[axis]]] for axis in spatial)
        counts = tuple(laid[order[axis]] for axis in spatial)
        whole = tuple(folded[axis] for axis in spatial)
        images = folded[batch]
        return Places(batch, channel, spatial, images, 0, sizes, counts, whole), rows_first
    return None


def _match_bias(view: View, node: int) -> Iterator[Match]:
    operation, (matrix,) = view.operation(node, SumAlong), view.operands(node)
    if operation not in (SumAlong((0,)), SumAlong((1,))) or len(view.shape(matrix)) != 2:
        return
    rows_first = operation == SumAlong((0,))
    if not view.is_a(matrix, Reshape):
        return
    laid = view.shape(view.operands(matrix)[0])
    for maps in _maps(view, matrix, rows_first, laid[:-1] if rows_first else laid[1:]):
        features = view.shape(matrix)[1 if rows_first else 0]
        if maps.axes is None or laid[-1 if rows_first else 0] != features:
            continue
        yield Match(
            PatternKind.WINDOW_PRODUCT_BIAS_GRADIENT,
            node,
            tuple(sorted({*maps.claimed, node})),
            (maps.operand,),
            (node,),
            BiasGradient(maps.axes[-1 if rows_first else 0]),
        )


WEIGHTS_GRADIENT: Final = Pattern((MatMul,), _match_weights)
INPUT_GRADIENT: Final = Pattern((Narrow, Fold), _match_input)
BIAS_GRADIENT: Final = Pattern((SumAlong,), _match_bias)
