"""One runtime's worker as its users see it: what it holds for them, made again in a new one."""

from __future__ import annotations

import itertools
import json
import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from topos import errors
from topos.errors import ArgumentError, ToposError
from topos.runtimes._archive import Array
from topos.runtimes._worker_process import Message, WorkerProcess

# The keys of everything in any worker.
_KEYS: Final = itertools.count()


class Remote:
    """An executable or an array in the worker: its key, and the request that makes it there.

    `needs` are made before it. `doing` is what the worker does then, `seconds` how long it may.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        arrays: Sequence[Array],
        doing: str,
        seconds: float,
        needs: Sequence[Remote] = (),
    ) -> None:
        self.key = next(_KEYS)
        self.request, self.arrays, self.doing = {**request, "key": self.key}, arrays, doing
        self.seconds, self.needs = seconds, needs


class Isolation:
    """The worker process of one runtime, started when it is first needed and after each death.

    Calls from several threads take turns, and a process forked from this one has a worker of its
    own. `adapter` is the module whose `RUNTIME` the worker serves.
    """

    def __init__(self, runtime: str, adapter: str) -> None:
        self._runtime, self._adapter = runtime, adapter
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._inherited: WorkerProcess | None = None
        self._loaded: set[int] = set()
        self._dropped: deque[int] = deque()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_forget, weakref.ref(self)))

    def start(self) -> None:
        """Starts the worker where there is none, and does not wait for it."""
        with self._lock:
            self._live_worker()

    def make(self, remote: Remote) -> dict[str, Any]:
        """Returns the worker's answer to the request that makes `remote`, which stays there."""
        _demand_plain(remote.request.get("options"))
        with self._lock:
            worker = self._live_worker()
            answer = self._load(worker, remote)
        weakref.finalize(remote, self._dropped.append, remote.key)
        return answer

    def ask(
        self,
        remote: Remote,
        request: dict[str, Any],
        arrays: Sequence[Array],
        doing: str,
        seconds: float,
    ) -> Message:
        """Returns the answer to a request about `remote`, made again where the worker is new."""
        with self._lock:
            worker = self._live_worker()
            self._load(worker, remote)
            request = {**request, "key": remote.key}
            return self._asked(worker, request, arrays, seconds, doing)

    def forget_worker(self) -> None:
        """Starts anew in a forked process, whose threads but the one that forked are gone."""
        self._lock = threading.Lock()
        # It is kept: to destroy it would warn of a process that still runs.
        self._inherited, self._worker = self._worker, None
        self._loaded.clear()

    def _live_worker(self) -> WorkerProcess:
        if self._worker is None or not self._worker.alive:
            self._loaded.clear()
            self._worker = WorkerProcess(self._runtime, self._adapter)
        return self._worker

    def _load(self, worker: WorkerProcess, remote: Remote) -> dict[str, Any]:
        if remote.key in self._loaded:
            return {}
        for need in remote.needs:
            self._load(worker, need)
        answer, _ = self._asked(worker, remote.request, remote.arrays, remote.seconds, remote.doing)
        self._loaded.add(remote.key)
        return answer

    def _asked(
        self,
        worker: WorkerProcess,
        request: Mapping[str, Any],
        arrays: Sequence[Array],
        seconds: float,
        doing: str,
    ) -> Message:
        # What is gone is named to the worker by the next request: a finalizer may run at any
        # moment and must not wait for the lock.
        dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
        self._loaded.difference_update(dropped)
        header = {**request, "dropped": dropped, "seconds": seconds}
        answer, results = worker.ask(header, arrays, seconds, doing)
        if "error" in answer:
            raise _error(answer)
        return answer, results


def _forget(isolation: weakref.ref[Isolation]) -> None:
    living = isolation()
    if living is not None:
        living.forget_worker()


def _demand_plain(options: Any) -> None:
    try:
        json.dumps(options)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"options of an isolated module need numbers, texts and truth values: {error}"
        ) from error


def _error(answer: dict[str, Any]) -> ToposError:
    error: ToposError = getattr(errors, answer["error"])(*answer["details"])
    return error
