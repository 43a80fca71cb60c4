"""StableHLO as data: read, verify, print, count, cut and write modules, without an MLIR build."""

from __future__ import annotations

from topos.stablehlo.builder import Builder, Value
from topos.stablehlo.cost import Census, Count
from topos.stablehlo.ir import (
    Block,
    Dense,
    Function,
    FunctionType,
    Operation,
    Parameter,
    Region,
    Symbol,
    Tensor,
    Type,
)
from topos.stablehlo.module import Module, parse

__all__ = [
    "Block",
    "Builder",
    "Census",
    "Count",
    "Dense",
    "Function",
    "FunctionType",
    "Module",
    "Operation",
    "Parameter",
    "Region",
    "Symbol",
    "Tensor",
    "Type",
    "Value",
    "parse",
]
