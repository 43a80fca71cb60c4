"""Elementwise arithmetic."""

from __future__ import annotations

from topos.emit.lowering.comparison import compared
from topos.emit.writer import Site, Ssa, lower
from topos.op import Add, Direction, Div, Maximum, Minimum, Mul, Neg, Power, Step, Sub


@lower.rule(Add)
def add(_operation: Add, site: Site) -> Ssa:
    return site.elementwise("stablehlo.add", *site.operands)


@lower.rule(Sub)
def sub(_operation: Sub, site: Site) -> Ssa:
    return site.elementwise("stablehlo.subtract", *site.operands)


@lower.rule(Mul)
def mul(_operation: Mul, site: Site) -> Ssa:
    return site.elementwise("stablehlo.multiply", *site.operands)


@lower.rule(Div)
def div(_operation: Div, site: Site) -> Ssa:
    return site.elementwise("stablehlo.divide", *site.operands)


@lower.rule(Neg)
def neg(_operation: Neg, site: Site) -> Ssa:
    return site.elementwise("stablehlo.negate", *site.operands)


@lower.rule(Maximum)
def maximum(_operation: Maximum, site: Site) -> Ssa:
    return site.elementwise("stablehlo.maximum", *site.operands)


@lower.rule(Minimum)
def minimum(_operation: Minimum, site: Site) -> Ssa:
    return site.elementwise("stablehlo.minimum", *site.operands)


@lower.rule(Step)
def step(_operation: Step, site: Site) -> Ssa:
    reached = compared(site, Direction.GREATER_EQUAL, *site.operands)
    return site.convert(reached, site.type.element)


@lower.rule(Power)
def power(_operation: Power, site: Site) -> Ssa:
    return site.elementwise("stablehlo.power", *site.operands)
