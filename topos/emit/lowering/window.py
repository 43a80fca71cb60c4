"""Sliding windows and their adjoint, spelled with strided slices and interior padding."""

from __future__ import annotations

from topos.emit.lowering.slicing import joined, padded, sliced
from topos.emit.writer import Site, Ssa, lower
from topos.op import Fold, Unfold
from topos.payload import TensorType


@lower.rule(Unfold)
def unfold(operation: Unfold, site: Site) -> Ssa:
    (value,) = site.operands
    shape = value.type.shape
    count = site.type.shape[operation.axis]
    lanes = []
    for position in range(operation.size):
        ranges = [(0, extent, 1) for extent in shape]
        limit = position + (count - 1) * operation.step + 1
        ranges[operation.axis] = (position, limit, operation.step)
        lane = sliced(site, value, ranges)
        type = TensorType((*lane.type.shape, 1), value.type.element)
        lanes.append(site.apply("stablehlo.reshape", (lane,), type))
    return joined(site, tuple(lanes), len(shape))


@lower.rule(Fold)
def fold(operation: Fold, site: Site) -> Ssa:
    value = site.widened(site.operands[0])
    *shape, size = value.type.shape
    count, axis = shape[operation.axis], operation.axis
    total = site.zero(site.type.shape, value.type.element)
    for position in range(size):
        ranges = [*((0, extent, 1) for extent in shape), (position, position + 1, 1)]
        type = TensorType(tuple(shape), value.type.element)
        lane = site.apply("stablehlo.reshape", (sliced(site, value, ranges),), type)
        low, high, interior = ([0] * len(shape) for _ in range(3))
        low[axis], interior[axis] = position, operation.step - 1
        high[axis] = operation.extent - position - (count - 1) * operation.step - 1
        total = site.elementwise("stablehlo.add", total, padded(site, lane, low, high, interior))
    return site.convert(total, site.type.element)
