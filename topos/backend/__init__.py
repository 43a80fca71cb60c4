"""Backends: implementers that serve formulas faster than the oracle's own kernels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topos.backend import numba
    from topos.backend.backend import Backend
    from topos.backend.coverage import Coverage
    from topos.backend.dispatch import Dispatch
    from topos.backend.fidelity import Fidelity
    from topos.backend.formula import Formula
    from topos.backend.offer import Declined, Kernel
    from topos.backend.precision import Precision
    from topos.backend.served import Served, serve
    from topos.backend.status import Status
    from topos.backend.tally import Service, Tally, count, summed
    from topos.backend.task import (
        BatchNormTask,
        GemmTask,
        MapTask,
        Normalized,
        ReduceTask,
        Task,
        precision_of,
    )

__all__ = [
    "Backend",
    "BatchNormTask",
    "Coverage",
    "Declined",
    "Dispatch",
    "Fidelity",
    "Formula",
    "GemmTask",
    "Kernel",
    "MapTask",
    "Normalized",
    "Precision",
    "ReduceTask",
    "Served",
    "Service",
    "Status",
    "Tally",
    "Task",
    "count",
    "numba",
    "precision_of",
    "serve",
    "summed",
]

_FILES: Final = {
    "Backend": "backend",
    "BatchNormTask": "task",
    "Coverage": "coverage",
    "Declined": "offer",
    "Dispatch": "dispatch",
    "Fidelity": "fidelity",
    "Formula": "formula",
    "GemmTask": "task",
    "Kernel": "offer",
    "MapTask": "task",
    "Normalized": "task",
    "Precision": "precision",
    "ReduceTask": "task",
    "Served": "served",
    "Service": "tally",
    "Status": "status",
    "Tally": "tally",
    "Task": "task",
    "count": "tally",
    "precision_of": "task",
    "serve": "served",
    "summed": "tally",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A plan that is lowered needs backends; a program that only records or emits loads none.
    if name == "numba":
        return import_module("topos.backend.numba")
    if name not in _FILES:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    return getattr(import_module(f"topos.backend.{_FILES[name]}"), name)
