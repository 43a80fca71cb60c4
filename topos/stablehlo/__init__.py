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

_FILES: Final = {
    "Block": "ir",
    "Builder": "builder",
    "CostAnalysis": "cost",
    "Count": "cost",
    "Dense": "ir",
    "Function": "ir",
    "FunctionType": "ir",
    "Module": "module",
    "ModuleLike": "forms",
    "Operation": "ir",
    "Parameter": "ir",
    "Region": "ir",
    "Symbol": "ir",
    "Tensor": "ir",
    "Type": "ir",
    "Value": "values",
    "parse": "module",
    "text_of": "forms",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A text that is only read and run needs no builder and no printer.
    if name not in _FILES:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
