"""Interchangeable runtimes: the contract of one, and a folder for each, found by its name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from topos.backend import Status
from topos.errors import UnavailableError
from topos.runtimes._certificate import Cell, Certificate, Envelope, Fault, Outcome
from topos.runtimes._certificate_files import certificate
from topos.runtimes._loop import Loop
from topos.runtimes._placed import Placed, aligned
from topos.runtimes._runtime import Executable, ExecutableCost, ExecutableMemory, Runtime
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.runtimes._texts import census, cost_analysis, printed, verify

__all__ = [
    "ArrayType",
    "Cell",
    "Certificate",
    "Envelope",
    "Executable",
    "ExecutableCost",
    "ExecutableMemory",
    "Fault",
    "Loop",
    "ModuleSignature",
    "Outcome",
    "Placed",
    "Runtime",
    "Status",
    "aligned",
    "census",
    "certificate",
    "cost_analysis",
    "load",
    "names",
    "printed",
    "status",
    "verify",
]


def names() -> tuple[str, ...]:
    """Returns every adapter's name: the folders of this folder, sorted."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if module.ispkg))


def load(name: str) -> Runtime:
    """Returns the adapter called `name`, which may not be ready.

    Raises `UnavailableError` where no adapter has that name.
    """
    if name not in names():
        raise UnavailableError(f"no runtime is called {name!r}; there are {', '.join(names())}")
    runtime: Runtime = import_module(f"{__name__}.{name}").RUNTIME
    return runtime


def status() -> dict[str, Status]:
    """Returns the status of every adapter by name."""
    return {name: load(name).status() for name in names()}
