"""Unary maps."""

from __future__ import annotations

from typing import Final

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
    if name.startswith("chlo."):
        return site.apply(name, (operand,), site.type)
    return site.elementwise(name, operand)
