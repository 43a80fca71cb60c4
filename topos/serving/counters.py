"""Counters: what a model has done since the session opened, and hooks told as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from topos.errors import ArgumentError
from topos.serving.settings import shown


@dataclass(slots=True)
class Counters:
    """Running totals of one model; seconds are sums.

    `outcomes` counts finished requests by the class of their error, or as `ok` or `cancelled`,
    `rows` those of the requests that are ok. `calls` counts the calls of the worker by the rows
    of the program that ran, `padding` the rows of those that nobody asked for.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    padding: int = 0
    calls: dict[int, int] = field(default_factory=dict)
    call_seconds: float = 0.0
    request_seconds: float = 0.0
    restarts: int = 0
    reloads: int = 0
    refused_reloads: int = 0


class Observer(Protocol):
    """What is told of every event of a session, on its loop: each method must return at once.

    A subclass may leave out what it has no use for.
    """

    def request_finished(self, model: str, outcome: str, rows: int, seconds: float) -> None:
        """Takes a request with its outcome, as `Counters.outcomes` names it."""
        return

    def call_finished(
        self, model: str, requests: int, rows: int, capacity: int, seconds: float
    ) -> None:
        """Takes a call of the worker: `rows` of `capacity` were requested, the others padding."""
        return

    def worker_restarted(self, model: str, reason: str) -> None:
        """Takes the reason why a worker was ended and is started again."""
        return

    def reload_finished(self, model: str, version: str, reason: str) -> None:
        """Takes a reload: the version that serves now, and why another was refused or nothing."""
        return


HOOKS: Final = ("request_finished", "call_finished", "worker_restarted", "reload_finished")


def observers_of(given: Sequence[Observer]) -> tuple[Observer, ...]:
    """Returns observers, each of which has every hook; raises `ArgumentError`."""
    try:
        observers = tuple(given)
    except TypeError:
        raise ArgumentError(f"observers need a sequence, got {shown(given)}") from None
    for each in observers:
        lacking = [name for name in HOOKS if not callable(getattr(each, name, None))]
        if lacking:
            raise ArgumentError(f"an observer needs {', '.join(lacking)}, got {shown(each)}")
    return observers


class Ledger:
    """The counters of one model, and everyone who is told as they change."""

    def __init__(self, model: str, observers: Sequence[Observer]) -> None:
        self.model, self.counters = model, Counters()
        # An observer that leaves a hook out is not called for it.
        self._hooks = {
            name: [
                getattr(each, name)
                for each in observers
                if getattr(type(each), name, None) is not getattr(Observer, name)
            ]
            for name in HOOKS
        }

    def request(self, outcome: str, rows: int, seconds: float) -> None:
        """Counts a request that is finished."""
        counters = self.counters
        counters.outcomes[outcome] = counters.outcomes.get(outcome, 0) + 1
        counters.request_seconds += seconds
        if outcome == "ok":
            counters.rows += rows
        self._tell("request_finished", outcome, rows, seconds)

    def call(self, requests: int, rows: int, capacity: int, seconds: float) -> None:
        """Counts a call that was answered."""
        counters = self.counters
        counters.calls[capacity] = counters.calls.get(capacity, 0) + 1
        counters.padding += capacity - rows
        counters.call_seconds += seconds
        self._tell("call_finished", requests, rows, capacity, seconds)

    def restart(self, reason: str) -> None:
        """Counts a worker that ended."""
        self.counters.restarts += 1
        self._tell("worker_restarted", reason)

    def reload(self, version: str, reason: str) -> None:
        """Counts a reload, refused where there is a reason."""
        if reason:
            self.counters.refused_reloads += 1
        else:
            self.counters.reloads += 1
        self._tell("reload_finished", version, reason)

    def _tell(self, name: str, *event: object) -> None:
        for hook in self._hooks[name]:
            try:
                hook(self.model, *event)
            # Who watches requests must not be able to lose one.
            except Exception as error:
                context = {"message": f"an observer failed in {hook!r}", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
