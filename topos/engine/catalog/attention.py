"""Scaled dot-product attention: queries by keys, a softmax over the keys, by the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, Pattern, PatternKind
from topos.engine.catalog.view import View
from topos.op import Add, Div, LogSoftmax, Map, MapOperation, MatMul, Mul, Select


class Attention(NamedTuple):
    """How scores become weights (Vaswani et al., 2017, section 3.2.1).

    The operands are queries `[..., m, d]`, keys and values `[..., n, d]`; the keys are
    `[..., d, n]` where not `keys_turned`. The scores are multiplied by `scale`, or divided by it
    where `divides`. A fourth operand is a mask, beside the scores: where it does not hold, a
    score is `fill`; without `fill` it is added.
    """

    scale: float | None
    divides: bool
    keys_turned: bool
    fill: float | None


def _match(view: View, node: int) -> Iterator[Match]:
    weights, values = view.operands(node)
    if view.operation(weights, Map) != Map(MapOperation.EXP):
        return
    (logarithm,) = view.operands(weights)
    softmax = view.operation(logarithm, LogSoftmax)
    if softmax is None or softmax.axis != len(view.shape(weights)) - 1:
        return
    (masked,) = view.operands(logarithm)
    for scores, mask, fill in _unmasked(view, masked):
        product, scale, divides = _unscaled(view, scores)
        if not view.is_a(product, MatMul):
            continue
        queries, right = view.operands(product)
        turned = view.turned(right)
        keys = right if turned is None else turned
        operands = (queries, keys, values, *(() if mask is None else (mask,)))
        yield Match(
            PatternKind.ATTENTION,
            node,
            view.between([node], operands),
            operands,
            (node,),
            Attention(scale, divides, turned is not None, fill),
        )
        return


def _unmasked(view: View, node: int) -> Iterator[tuple[int, int | None, float | None]]:
    """Yields readings of `node`: scores under a mask, the mask, the number in their place."""
    if view.is_a(node, Select):
        mask, scores, other = view.operands(node)
        fill = view.number(other)
        if fill is not None:
            yield scores, mask, fill
    if view.is_a(node, Add):
        left, right = view.operands(node)
        yield left, right, None
        yield right, left, None
    yield node, None, None


def _unscaled(view: View, node: int) -> tuple[int, float | None, bool]:
    """Returns the product under a constant factor or divisor, the constant, and which it is."""
    if view.is_a(node, Mul) or view.is_a(node, Div):
        product, constant = view.operands(node)
        number = view.number(constant)
        if number is None and view.is_a(node, Mul):
            product, number = constant, view.number(product)
        if number is not None:
            return product, number, view.is_a(node, Div)
    return node, None, False


ATTENTION: Final = Pattern((MatMul,), _match)
