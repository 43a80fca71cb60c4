"""Slicing: a box of a value, the zeros around one, and values joined along an axis."""

from __future__ import annotations

from topos.emit.text import integers
from topos.emit.writer import Site, Ssa, lower
from topos.op import Concatenate, Narrow, Pad
from topos.payload import TensorType


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
