"""Serving: bundles answer requests, batched, bounded, and in worker processes of their own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topos.errors import UnavailableError
from topos.serving.counters import Counters, Observer
from topos.serving.errors import (
    BusyError,
    DeadlineError,
    DrainingError,
    NotReadyError,
    RequestError,
    ServingError,
    TooLargeError,
    UnknownModelError,
    WorkerError,
)
from topos.serving.settings import Settings
from topos.serving.status import ModelPort, ModelStatus, Outcome

if TYPE_CHECKING:
    from topos.serving.session import Session

__all__ = [
    "BusyError",
    "Counters",
    "DeadlineError",
    "DrainingError",
    "ModelPort",
    "ModelStatus",
    "NotReadyError",
    "Observer",
    "Outcome",
    "RequestError",
    "ServingError",
    "Session",
    "Settings",
    "TooLargeError",
    "UnknownModelError",
    "WorkerError",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # The command line and the workers know of serving without loading sessions.
    if name != "Session":
        raise AttributeError(f"topos.serving has no attribute {name!r}")
    try:
        return import_module("topos.serving.session").Session
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        needs = "a session needs msgspec: pip install 'topos-compiler[serve]'"
        raise UnavailableError(needs) from error
