"""Comparison, selection by a mask, and conversion between elements."""

from __future__ import annotations

from topos.emit.writer import Site, Ssa, lower
from topos.op import Compare, Convert, Direction, Select
from topos.payload import TensorType, bool_


@lower.rule(Compare)
def compare(operation: Compare, site: Site) -> Ssa:
    return compared(site, operation.direction, *site.operands)


@lower.rule(Select)
def select(_operation: Select, site: Site) -> Ssa:
    return site.apply("stablehlo.select", site.operands, site.type)


@lower.rule(Convert)
def convert(operation: Convert, site: Site) -> Ssa:
    return site.convert(site.operands[0], operation.element)


def compared(site: Site, direction: Direction, left: Ssa, right: Ssa) -> Ssa:
    """Writes the mask of where the comparison holds."""
    kind = {"i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}.get(
        left.type.element.dtype.kind, "FLOAT"
    )
    type = TensorType(left.type.shape, bool_)
    return site.apply(f"stablehlo.compare {direction.value},", (left, right), type, f", {kind}")
