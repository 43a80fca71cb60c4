"""Unary maps."""

from __future__ import annotations

from typing import Final

from topos.emit.text import tensor_type
from topos.emit.writer import Site, Ssa, lower
from topos.op import Map, MapOperation

NAMES: Final[dict[MapOperation, str]] = {
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


@lower.rule(Map)
def map_(operation: Map, site: Site) -> Ssa:
    name, (operand,) = NAMES[operation.function], site.operands
    if operation.function is not MapOperation.ERF:
        return site.elementwise(name, operand)
    # The chlo dialect spells operand and result type without parentheses.
    type = tensor_type(site.type)
    return site.write(f"{name} {operand.name}", f"{type} -> {type}", site.type)
