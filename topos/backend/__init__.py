"""Backends: implementers that serve formulas faster than the oracle's own kernels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topos.backend.backend import Backend as Backend
    from topos.backend.backend import Backends as Backends
    from topos.backend.backend import used as used
    from topos.backend.chain import CLEAN as CLEAN
    from topos.backend.chain import Served as Served
    from topos.backend.chain import computed as computed
    from topos.backend.chain import own_kernel as own_kernel
    from topos.backend.chain import serve as serve
    from topos.backend.formula import Formula as Formula
    from topos.backend.formula import Precision as Precision
    from topos.backend.tally import Service as Service
    from topos.backend.tally import Tally as Tally
    from topos.backend.tally import count as count
    from topos.backend.tally import summed as summed
    from topos.backend.task import BatchNormTask as BatchNormTask
    from topos.backend.task import GemmTask as GemmTask
    from topos.backend.task import MapTask as MapTask
    from topos.backend.task import Normalized as Normalized
    from topos.backend.task import OperationTask as OperationTask
    from topos.backend.task import ReduceTask as ReduceTask
    from topos.backend.task import Task as Task
    from topos.backend.task import precision_of as precision_of
    from topos.backend.task import task_of as task_of
    from topos.backend.terms import Coverage as Coverage
    from topos.backend.terms import Declined as Declined
    from topos.backend.terms import Dispatch as Dispatch
    from topos.backend.terms import Fidelity as Fidelity
    from topos.backend.terms import Function as Function
    from topos.backend.terms import Kernel as Kernel
    from topos.backend.terms import Status as Status

_FILES: Final = {
    "backend": ("Backend", "Backends", "used"),
    "chain": ("CLEAN", "Served", "computed", "own_kernel", "serve"),
    "formula": ("Formula", "Precision"),
    "tally": ("Service", "Tally", "count", "summed"),
    "task": (
        "BatchNormTask",
        "GemmTask",
        "MapTask",
        "Normalized",
        "OperationTask",
        "ReduceTask",
        "Task",
        "precision_of",
        "task_of",
    ),
    "terms": ("Coverage", "Declined", "Dispatch", "Fidelity", "Function", "Kernel", "Status"),
}
_PLACES: Final = {name: file for file, names in _FILES.items() for name in names}
__all__ = sorted(_PLACES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # A plan that is lowered needs backends; a program that only records or emits loads none.
    if name not in _PLACES:
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    found = getattr(import_module(f"topos.backend.{_PLACES[name]}"), name)
    # The oracle asks at every operation; what is found once is an attribute from then on.
    globals()[name] = found
    return found
