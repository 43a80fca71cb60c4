"""Layout, boxes, joins and windows of values, the matrix product, and constants."""

from __future__ import annotations

from topos.emit.text import dense, integers, tensor_type
from topos.emit.writer import Site, Ssa, lower
from topos.op import (
    Concatenate,
    Fold,
    Leaf,
    MatMul,
    Narrow,
    Pad,
    Permute,
    Reshape,
    Transpose,
    Unfold,
)
from topos.payload import TensorType, f32


@lower.rule(Leaf)
def leaf(operation: Leaf, site: Site) -> Ssa:
    assert operation.payload is not None
    body = f"stablehlo.constant {dense(operation.payload)}"
    return site.write(body, tensor_type(site.type), site.type)


@lower.rule(Reshape)
def reshape(_operation: Reshape, site: Site) -> Ssa:
    return site.apply("stablehlo.reshape", site.operands, site.type)


@lower.rule(Permute)
def permute(operation: Permute, site: Site) -> Ssa:
    dims = f", dims = {integers(operation.axes)}"
    return site.apply("stablehlo.transpose", site.operands, site.type, dims)


@lower.rule(MatMul)
def matmul(_operation: MatMul, site: Site) -> Ssa:
    left, right = map(site.widened, site.operands)
    rank = len(site.type.shape)
    batch = integers(range(rank - 2))
    attributes = f", batching_dims = {batch} x {batch}" if rank > 2 else ""
    attributes += f", contracting_dims = [{rank - 1}] x [{rank - 2}]"
    if site.exact and left.type.element is f32:
        # A runtime may otherwise round the operands of an f32 product to fewer bits.
        attributes += ", precision = [HIGHEST, HIGHEST]"
    type = TensorType(site.type.shape, left.type.element)
    product = site.apply("stablehlo.dot_general", (left, right), type, attributes)
    return site.convert(product, site.type.element)


@lower.rule(Transpose)
def transpose(_operation: Transpose, site: Site) -> Ssa:
    rank = len(site.type.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    dims = f", dims = {integers(order)}"
    return site.apply("stablehlo.transpose", site.operands, site.type, dims)


@lower.rule(Narrow)
def narrow(operation: Narrow, site: Site) -> Ssa:
    box = zip(operation.starts, operation.extents, strict=True)
    return sliced(site, site.operands[0], [(start, start + extent, 1) for start, extent in box])


@lower.rule(Pad)
def pad(operation: Pad, site: Site) -> Ssa:
    return padded(site, site.operands[0], operation.low, operation.high, [0] * len(operation.low))


@lower.rule(Concatenate)
def concatenate(operation: Concatenate, site: Site) -> Ssa:
    return joined(site, site.operands, operation.axis)


def sliced(site: Site, value: Ssa, ranges: list[tuple[int, int, int]]) -> Ssa:
    """Writes the slice with one `(start, limit, stride)` an axis."""
    shape = tuple(-(-(limit - start) // stride) for start, limit, stride in ranges)
    text = ", ".join(
        f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}"
        for start, limit, stride in ranges
    )
    type = TensorType(shape, value.type.element)
    return site.apply("stablehlo.slice", (value,), type, f" [{text}]")


def padded(
    site: Site,
    value: Ssa,
    low: tuple[int, ...] | list[int],
    high: tuple[int, ...] | list[int],
    interior: list[int],
) -> Ssa:
    """Writes `value` with zeros before, after and between its elements along each axis."""
    zero = site.zero((), value.type.element)
    sides = zip(low, value.type.shape, high, interior, strict=True)
    shape = tuple(
        before + extent + max(extent - 1, 0) * between + after
        for before, extent, after, between in sides
    )
    attributes = (
        f", low = {integers(low)}, high = {integers(high)}, interior = {integers(interior)}"
    )
    type = TensorType(shape, value.type.element)
    return site.apply("stablehlo.pad", (value, zero), type, attributes)


def joined(site: Site, values: tuple[Ssa, ...], axis: int) -> Ssa:
    """Writes `values` joined along `axis`."""
    first = values[0].type
    extent = sum(value.type.shape[axis] for value in values)
    shape = (*first.shape[:axis], extent, *first.shape[axis + 1 :])
    type = TensorType(shape, first.element)
    return site.apply("stablehlo.concatenate", values, type, f", dim = {axis}")


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
