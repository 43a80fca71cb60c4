"""Batch normalization as recorded: with the statistics of its batch, or with given ones.

`scale * ((x - mean) / sqrt(variance + epsilon)) + shift` (Ioffe & Szegedy, 2015), a number of each
statistic and of each learned value for every feature.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.op import Add, BroadcastAlong, Div, Map, MapOperation, Mul, Sub, SumAlong
from topos.payload import size


class BatchNorm(NamedTuple):
    """The axis of the features, and what keeps the variance above zero."""

    feature: int
    epsilon: float


class _Normalized(NamedTuple):
    """The parts of a normalization; `axes` are all but the features'."""

    axes: tuple[int, ...]
    operand: int
    centred: int
    mean: int
    variance: int
    scale: int
    shift: int
    form: BatchNorm


def _match(view: View, node: int) -> Iterator[Match]:
    found = _normalized(view, node)
    if found is None:
        return
    operands: tuple[int, ...] = (found.operand, found.scale, found.shift)
    if _are_statistics(view, found):
        results = (node, found.mean, found.variance)
        kind = PatternKind.BATCH_NORM_TRAINING
        yield Match(kind, node, view.between([node], operands), operands, results, found.form)
    # Statistics of the batch itself, of whatever formula, belong to training.
    elif not any(view.depends(each, found.operand) for each in (found.mean, found.variance)):
        operands = (*operands, found.mean, found.variance)
        kind = PatternKind.BATCH_NORM_INFERENCE
        yield Match(kind, node, view.between([node], operands), operands, (node,), found.form)


def _normalized(view: View, node: int) -> _Normalized | None:
    """Returns the parts of the normalization that ends in `node`."""
    left, right = view.operands(node)
    if not view.is_a(left, BroadcastAlong) and not view.is_a(right, BroadcastAlong):
        return None
    for product, added in _either(view, node, Add):
        axes = _features_kept(view, added)
        if axes is None:
            continue
        for quotient, scaled in _either(view, product, Mul):
            scale = view.spread(scaled, axes)
            if scale is None or not view.is_a(quotient, Div):
                continue
            return _standardized(view, quotient, axes, scale, view.operands(added)[0])
    return None


def _standardized(
    view: View, quotient: int, axes: tuple[int, ...], scale: int, shift: int
) -> _Normalized | None:
    centred, deviation = view.operands(quotient)
    root = _variance_of(view, deviation, axes)
    if root is None or not view.is_a(centred, Sub):
        return None
    operand, spread = view.operands(centred)
    mean, (variance, epsilon) = view.spread(spread, axes), root
    if mean is None or len(view.shape(variance)) != 1:
        return None
    rank = len(view.shape(operand))
    (feature,) = (axis for axis in range(rank) if axis not in axes)
    form = BatchNorm(feature, epsilon)
    return _Normalized(axes, operand, centred, mean, variance, scale, shift, form)


def _variance_of(view: View, node: int, axes: tuple[int, ...]) -> tuple[int, float] | None:
    """Returns the variance and epsilon of which `node` is the root, spread before or after."""
    root = _narrowed(view, node, axes)
    if view.operation(root, Map) != Map(MapOperation.SQRT):
        return None
    total = _narrowed(view, view.operands(root)[0], axes)
    for variance, constant in _either(view, total, Add):
        epsilon = view.number(constant)
        if epsilon is not None:
            return _narrowed(view, variance, axes), epsilon
    return None


def _narrowed(view: View, node: int, axes: tuple[int, ...]) -> int:
    spread = view.spread(node, axes)
    return node if spread is None else spread


def _either(view: View, node: int, kind: type[Add] | type[Mul]) -> list[tuple[int, int]]:
    """Returns the operands of a sum or a product in both orders, which have the same bits."""
    if not view.is_a(node, kind):
        return []
    left, right = view.operands(node)
    return [(left, right), (right, left)]


def _features_kept(view: View, node: int) -> tuple[int, ...] | None:
    """Returns the axes along which `node` repeats numbers, one for each feature."""
    operation = view.operation(node, BroadcastAlong)
    if operation is None or len(view.shape(view.operands(node)[0])) != 1 or not operation.axes:
        return None
    return operation.axes


def _are_statistics(view: View, found: _Normalized) -> bool:
    """Returns whether mean and biased variance are those of the operand."""
    square = _averaged(view, found.variance, found.axes)
    if square is None or not view.is_a(square, Mul):
        return False
    if _averaged(view, found.mean, found.axes) != found.operand:
        return False
    return all(view.same(each, found.centred) for each in view.operands(square))


def _averaged(view: View, node: int, axes: tuple[int, ...]) -> int | None:
    """Returns what `node` is the mean of over `axes`."""
    if not view.is_a(node, Div):
        return None
    total, count = view.operands(node)
    if view.operation(total, SumAlong) != SumAlong(axes):
        return None
    (operand,) = view.operands(total)
    terms = size(tuple(view.shape(operand)[axis] for axis in axes))
    return operand if view.number(count) == float(terms) else None


BATCH_NORM: Final = Pattern((Add,), _match)
