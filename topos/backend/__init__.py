"""Backends: implementers that serve formulas faster than the oracle's own kernels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topos.backend.backend import Backend, Backends, used
    from topos.backend.chain import Served, computed, serve
    from topos.backend.formula import Formula, Precision
    from topos.backend.oracle import CLEAN, own_kernel
    from topos.backend.tally import Service, Tally, count, summed
    from topos.backend.task import (
        BatchNormTask,
        GemmTask,
        MapTask,
        Normalized,
        OperationTask,
        ReduceTask,
        Task,
        precision_of,
        task_of,
    )
    from topos.backend.terms import (
        Coverage,
        Declined,
        Dispatch,
        Fidelity,
        Function,
        Kernel,
        Status,
    )

__all__ = [
    "CLEAN",
    "Backend",
    "Backends",
    "BatchNormTask",
    "Coverage",
    "Declined",
    "Dispatch",
    "Fidelity",
    "Formula",
    "Function",
    "GemmTask",
    "Kernel",
    "MapTask",
    "Normalized",
    "OperationTask",
    "Precision",
    "ReduceTask",
    "Served",
    "Service",
    "Status",
    "Tally",
    "Task",
    "computed",
    "count",
    "own_kernel",
    "precision_of",
    "serve",
    "summed",
    "task_of",
    "used",
]

_FILES: Final = {
    "backend": ("Backend", "Backends", "used"),
    "chain": ("Served", "computed", "serve"),
    "formula": ("Formula", "Precision"),
    "oracle": ("CLEAN", "own_kernel"),
    "tally": ("Service", "Tally", "count", "summed"),
    "terms": ("Coverage", "Declined", "Dispatch", "Fidelity", "Function", "Kernel", "Status"),
}
_PLACES: Final = {name: file for file, names in _FILES.items() for name in names}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A plan that is lowered needs backends; a program that only records or emits loads none.
    if name not in __all__:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    found = getattr(import_module(f"topos.backend.{_PLACES.get(name, 'task')}"), name)
    # The oracle asks at every operation; what is found once is an attribute from then on.
    globals()[name] = found
    return found
