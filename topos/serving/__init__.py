"""Serving: bundles answer requests, batched, bounded, and in worker processes of their own."""

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
from topos.serving.session import Session
from topos.serving.settings import Settings
from topos.serving.status import ModelPort, ModelStatus

__all__ = [
    "BusyError",
    "Counters",
    "DeadlineError",
    "DrainingError",
    "ModelPort",
    "ModelStatus",
    "NotReadyError",
    "Observer",
    "RequestError",
    "ServingError",
    "Session",
    "Settings",
    "TooLargeError",
    "UnknownModelError",
    "WorkerError",
]
