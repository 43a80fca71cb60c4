"""Interchangeable runtimes: one adapter a file, found by the file's name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from topos.errors import UnavailableError
from topos.runtimes._runtime import (
    ArrayType,
    Executable,
    ModuleSignature,
    Runtime,
    Status,
    requested,
)

__all__ = [
    "ArrayType",
    "Executable",
    "ModuleSignature",
    "Runtime",
    "Status",
    "load",
    "names",
    "status",
    "verify",
]


def names() -> tuple[str, ...]:
    """Returns every adapter's name: the public plain modules of this folder, sorted."""
    return tuple(
        sorted(
            module.name
            for module in iter_modules(__path__)
            if not module.ispkg and not module.name.startswith("_")
        )
    )


def load(name: str) -> Runtime:
    """Returns the adapter called `name`, which may still answer that it is not ready.

    Raises `UnavailableError` where no adapter has that name.
    """
    if name not in names():
        raise UnavailableError(f"no runtime is called {name!r}; there are {', '.join(names())}")
    runtime: Runtime = import_module(f"{__name__}.{name}").RUNTIME
    return runtime


def status() -> dict[str, Status]:
    """Returns the status of every adapter by name."""
    return {name: load(name).status() for name in names()}


def verify(text: str) -> None:
    """Parses StableHLO text and holds every operation of it to its rule.

    Needs only the base installation. Raises `ParseError`, `VerifyError` or `UnsupportedError`
    with line, column and a caret; `ArgumentError` where `text` is no string.
    """
    requested(text, None)
    # The parser is loaded by the first text, not by the import of the adapters.
    from topos.runtimes._stablehlo.read import read

    read(text)
