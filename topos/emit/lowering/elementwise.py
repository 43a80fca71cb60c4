"""Elementwise operations: arithmetic, unary maps, comparison, selection by a mask, conversion."""

from __future__ import annotations

from typing import Final

from topos.emit.text import tensor_type
from topos.emit.writer import Site, Ssa, lower
from topos.op import (
    Add,
    Compare,
    Convert,
    Direction,
    Div,
    Map,
    MapOperation,
    Maximum,
    Minimum,
    Mul,
    Neg,
    Operation,
    Power,
    Select,
    Step,
    Sub,
)
from topos.payload import TensorType, bool_

ARITHMETIC: Final[dict[type[Operation], str]] = {
    Add: "stablehlo.add",
    Sub: "stablehlo.subtract",
    Mul: "stablehlo.multiply",
    Div: "stablehlo.divide",
    Neg: "stablehlo.negate",
    Maximum: "stablehlo.maximum",
    Minimum: "stablehlo.minimum",
    Power: "stablehlo.power",
}
MAPS: Final[dict[MapOperation, str]] = {
    MapOperation.EXP: "stablehlo.exponential",
    MapOperation.EXPM1: "stablehlo.exponential_minus_one",
    MapOperation.LN: "stablehlo.log",
    MapOperation.LOG1P: "stablehlo.log_plus_one",
    MapOperation.SQRT: "stablehlo.sqrt",
    MapOperation.RSQRT: "stablehlo.rsqrt",
    MapOperation.TANH: "stablehlo.tanh",
    MapOperation.LOGISTIC: "stablehlo.logistic",
    MapOperation.SIN: "stablehlo.sine",
    MapOperation.COS: "stablehlo.cosine",
    MapOperation.ERF: "chlo.erf",
}


def arithmetic(operation: Operation, site: Site) -> Ssa:
    return site.elementwise(ARITHMETIC[type(operation)], *site.operands)


for _kind in ARITHMETIC:
    lower.rule(_kind)(arithmetic)


@lower.rule(Step)
def step(_operation: Step, site: Site) -> Ssa:
    reached = compared(site, Direction.GREATER_EQUAL, *site.operands)
    return site.convert(reached, site.type.element)


@lower.rule(Map)
def map_(operation: Map, site: Site) -> Ssa:
    name, (operand,) = MAPS[operation.function], site.operands
    if operation.function is not MapOperation.ERF:
        return site.elementwise(name, operand)
    # The chlo dialect spells operand and result type without parentheses.
    type = tensor_type(site.type)
    return site.write(f"{name} {operand.name}", f"{type} -> {type}", site.type)


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
