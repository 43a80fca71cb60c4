"""The registry: which kernel runs for the target of a custom call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, overload

from topos.errors import ArgumentError
from topos.runtimes.interpreter.custom_calls.call import Check, CustomKernel, Target

__all__ = ["check_of", "is_shipped", "kernel_of", "register_custom_call"]

# The kernels that a program adds to its own process. A module compiled before keeps its own.
_REGISTERED: Final[dict[str, CustomKernel]] = {}


@cache
def _shipped() -> Mapping[str, Target]:
    """Returns the targets of this package: those of the files of this folder that have a table.

    They are loaded by the first custom call.
    """
    modules = [each.name for each in iter_modules([str(Path(__file__).parent)])]
    families = [import_module(f"{__package__}.{name}") for name in modules]
    return {
        name: target
        for family in families
        for name, target in getattr(family, "TARGETS", {}).items()
    }


@overload
def register_custom_call(
    target: str, kernel: None = None, *, replace: bool = False
) -> Callable[[CustomKernel], CustomKernel]: ...


@overload
def register_custom_call(
    target: str, kernel: CustomKernel, *, replace: bool = False
) -> CustomKernel: ...


def register_custom_call(
    target: str, kernel: CustomKernel | None = None, *, replace: bool = False
) -> CustomKernel | Callable[[CustomKernel], CustomKernel]:
    """Registers the kernel of a custom call's target, for modules that are compiled from then on.

    The kernel is called with a `CustomCall`, then with one array an operand, which it must not
    write. It returns the array of the one result, or a sequence of one array a result, of the
    shapes and dtypes that the text states. Returns the kernel; without one, returns a decorator.
    Raises `ArgumentError` for a target that has a kernel already, unless it is to be replaced.
    """
    if kernel is None:
        return lambda decorated: register_custom_call(target, decorated, replace=replace)
    if not isinstance(target, str) or not target or not callable(kernel):
        raise ArgumentError(
            f"register_custom_call needs a target and a function, got {target!r} and {kernel!r}"
        )
    if not replace and (target in _shipped() or target in _REGISTERED):
        raise ArgumentError(
            f"custom_call @{target} has a kernel already, and replace=True was not given"
        )
    _REGISTERED[target] = kernel
    return kernel


def kernel_of(target: str) -> CustomKernel | None:
    """Returns the kernel that runs for `target`, the program's own before the shipped one."""
    if target in _REGISTERED:
        return _REGISTERED[target]
    return _shipped()[target].kernel if target in _shipped() else None


def check_of(target: str) -> Check | None:
    """Returns the check of each call of `target`, if what runs for it is of this package."""
    return _shipped()[target].check if is_shipped(target) else None


def is_shipped(target: str) -> bool:
    """Returns whether the kernel that runs for `target` is of this package."""
    return target in _shipped() and target not in _REGISTERED
