"""Backends: implementers that serve kernels faster than the oracle's own numpy code."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from topos.backend.fidelity import Fidelity
from topos.backend.status import Status

if TYPE_CHECKING:
    from topos.backend import numba

__all__ = ["Fidelity", "Status", "numba"]

_IMPLEMENTERS: Final = frozenset({"numba"})


def __getattr__(name: str) -> ModuleType:
    # An implementer loads where a plan first asks it to serve.
    if name not in _IMPLEMENTERS:
        raise AttributeError(f"{__name__} has no implementer {name!r}")
    return import_module(f"{__name__}.{name}")
