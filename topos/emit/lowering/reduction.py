"""Reductions, the broadcasts that are their adjoints, and the stable forms made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from topos.emit.text import number
from topos.emit.writer import Site, Ssa, lower
from topos.op import (
    Broadcast,
    BroadcastAlong,
    LogSoftmax,
    LogSumExp,
    MaxAlong,
    Sum,
    SumAlong,
)
from topos.payload import Element, TensorType, bool_
from topos.payload.storage import ends


@lower.rule(Sum)
def sum_(_operation: Sum, site: Site) -> Ssa:
    return summed(site, site.operands[0], tuple(range(len(site.operands[0].type.shape))))


@lower.rule(SumAlong)
def sum_along(operation: SumAlong, site: Site) -> Ssa:
    return summed(site, site.operands[0], operation.axes)


@lower.rule(MaxAlong)
def max_along(operation: MaxAlong, site: Site) -> Ssa:
    return largest(site, site.operands[0], operation.axes)


@lower.rule(Broadcast)
def broadcast(operation: Broadcast, site: Site) -> Ssa:
    return site.broadcast(site.operands[0], [], operation.shape)


@lower.rule(BroadcastAlong)
def broadcast_along(operation: BroadcastAlong, site: Site) -> Ssa:
    return repeated(site, site.operands[0], operation.axes, site.type.shape)


def summed(site: Site, value: Ssa, axes: tuple[int, ...]) -> Ssa:
    """Writes the sum of `value` over `axes`, accumulated wide and rounded once."""
    wide = site.widened(value)
    start = site.zero((), wide.type.element)
    return site.convert(site.reduce("stablehlo.add", wide, start, axes), value.type.element)


def largest(site: Site, value: Ssa, axes: tuple[int, ...]) -> Ssa:
    """Writes the maximum of `value` over `axes`."""
    element = value.type.element
    start = site.constant(number(lowest(element)), TensorType((), element))
    return site.reduce("stablehlo.maximum", value, start, axes)


def repeated(site: Site, value: Ssa, axes: tuple[int, ...], shape: tuple[int, ...]) -> Ssa:
    """Writes `value` repeated along new axes, which stand at `axes` of `shape`."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return site.broadcast(value, kept, shape)


def lowest(element: Element) -> Any:
    """Returns the number that every maximum exceeds or equals."""
    if element.dtype.kind == "b":
        return np.bool_(False)
    if element.dtype.kind in "iu":
        return element.dtype.type(np.iinfo(element.dtype).min)
    return ends(element.dtype)[0]


@lower.rule(LogSoftmax)
def log_softmax(operation: LogSoftmax, site: Site) -> Ssa:
    shifted, _, logarithm = _parts(site, operation.axis)
    spread = repeated(site, logarithm, (operation.axis,), shifted.type.shape)
    result = site.elementwise("stablehlo.subtract", shifted, spread)
    return site.convert(result, site.type.element)


@lower.rule(LogSumExp)
def log_sum_exp(operation: LogSumExp, site: Site) -> Ssa:
    _, shift, logarithm = _parts(site, operation.axis)
    result = site.elementwise("stablehlo.add", shift, logarithm)
    return site.convert(result, site.type.element)


def _parts(site: Site, axis: int) -> tuple[Ssa, Ssa, Ssa]:
    """Writes `x - m`, `m` and `ln(sum(exp(x - m)))`, in the accumulating element."""
    value = site.widened(site.operands[0])
    top = largest(site, value, (axis,))
    finite = site.apply("stablehlo.is_finite", (top,), TensorType(top.type.shape, bool_))
    zero = site.zero(top.type.shape, top.type.element)
    shift = site.apply("stablehlo.select", (finite, top, zero), top.type)
    spread = repeated(site, shift, (axis,), value.type.shape)
    shifted = site.elementwise("stablehlo.subtract", value, spread)
    exponentials = site.elementwise("stablehlo.exponential", shifted)
    logarithm = site.elementwise("stablehlo.log", summed(site, exponentials, (axis,)))
    return shifted, shift, logarithm
