"""StableHLO as data: read, verify, print, count, cut and write modules, without an MLIR build."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topos.stablehlo.builder import Builder
    from topos.stablehlo.cost import CostAnalysis, Count
    from topos.stablehlo.forms import ModuleLike, text_of
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
    from topos.stablehlo.values import Value

__all__ = [
    "Block",
    "Builder",
    "CostAnalysis",
    "Count",
    "Dense",
    "Function",
    "FunctionType",
    "Module",
    "ModuleLike",
    "Operation",
    "Parameter",
    "Region",
    "Symbol",
    "Tensor",
    "Type",
    "Value",
    "parse",
    "text_of",
]

# Every other name is in ir.
_FILES: Final = {
    "builder": ("Builder",),
    "cost": ("CostAnalysis", "Count"),
    "forms": ("ModuleLike", "text_of"),
    "module": ("Module", "parse"),
    "values": ("Value",),
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A text that is only read and run needs no builder and no printer.
    if name not in __all__:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    file = next((file for file, names in _FILES.items() if name in names), "ir")
    return getattr(import_module(f"{__name__}.{file}"), name)
