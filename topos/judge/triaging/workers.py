"""Worker processes that examine modules: one that dies or takes too long costs its module alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from topos.errors import UnavailableError
from topos.judge.command import ending
from topos.judge.triaging.examining import FAILED, Found, examined
from topos.judge.triaging.folder import Subject, Terms

# How long a worker may take to start, and to end once it is asked to.
STARTUP_SECONDS: Final = 120.0
END_SECONDS: Final = 3.0
# How much of what a worker said last is told of its death.
LINES, LONGEST = 4, 400
MIB: Final = 2**20


class Limits(NamedTuple):
    """What one module may take: seconds to grade it, and as many to bisect it, and MiB of memory.

    `memory` bounds each process, the runtime's too; `None` is no bound.
    """

    seconds: float
    memory: int | None


def worked(
    subjects: Sequence[Subject], terms: Terms, limits: Limits, jobs: int
) -> Iterator[tuple[Subject, Found]]:
    """Yields what is found of modules as soon as it is, from `jobs` workers at once.

    A worker that dies or takes too long is replaced, and its module has failed. Raises
    `UnavailableError` where a worker cannot start.
    """
    left, workers = deque(subjects), list[_Worker]()
    with tempfile.TemporaryDirectory(prefix="topos-") as folder:
        try:
            while left or any(each.subject for each in workers):
                workers = [each for each in workers if each.alive]
                while len(workers) < min(jobs, len(left) + sum(map(_is_busy, workers))):
                    workers.append(_Worker(terms, limits, Path(folder)))
                for each in workers:
                    if each.idle and left:
                        each.give(left.popleft())
                yield from _answers(workers)
        finally:
            for each in workers:
                each.terminate()
            for each in workers:
                each.end()


def _is_busy(worker: _Worker) -> bool:
    return worker.subject is not None


def _answers(workers: Sequence[_Worker]) -> Iterator[tuple[Subject, Found]]:
    """Waits until a worker says something or its time is over, and yields what is then found."""
    now = time.monotonic()
    until = min(each.deadline for each in workers)
    ready = wait([each.connection for each in workers], max(0.0, until - now))
    for each in workers:
        if each.connection in ready:
            yield from each.heard()
        elif time.monotonic() >= each.deadline:
            yield from each.expired()


class _Worker:
    """The parent's end of one process: what it examines, until when, and what it found so far."""

    def __init__(self, terms: Terms, limits: Limits, folder: Path) -> None:
        self._limits, self._found = limits, Found()
        self.subject: Subject | None = None
        self.idle, self.alive = False, True
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        descriptor, name = tempfile.mkstemp(dir=folder)
        os.close(descriptor)
        self._said = Path(name)
        self._process = context.Process(
            target=main, args=(theirs, terms, limits.memory, name), daemon=True
        )
        self._process.start()
        theirs.close()
        self.deadline = time.monotonic() + STARTUP_SECONDS

    def give(self, subject: Subject) -> None:
        """Lets the worker examine a module."""
        self.subject, self.idle, self._found = subject, False, {}
        self.deadline = time.monotonic() + self._limits.seconds
        # One that died is heard of where its end is read.
        with suppress(OSError):
            self.connection.send(subject)

    def heard(self) -> Iterator[tuple[Subject, Found]]:
        """Reads one message, and yields what is found of the module if that was the last one."""
        try:
            found = self.connection.recv()
        except (EOFError, OSError):
            yield from self._lost(self._death())
            return
        if found is not None:
            self._found = found
            self.deadline = time.monotonic() + self._limits.seconds
            return
        if self.subject is not None:
            yield self.subject, self._found
        self.subject, self.idle, self.deadline = None, True, float("inf")

    def expired(self) -> Iterator[tuple[Subject, Found]]:
        """Ends the worker, whose module took too long."""
        yield from self._lost(f"took longer than {self._limits.seconds:g} seconds")

    def _lost(self, reason: str) -> Iterator[tuple[Subject, Found]]:
        said = self._last_lines()
        self.end()
        told = "\n".join([reason, *said])
        if self.subject is None and self.idle:
            return
        if self.subject is None:
            raise UnavailableError(f"a worker of the triage {told}")
        if self._found:
            yield self.subject, self._found | {"note": f"the bisection {told}"}
        else:
            outcome = {"outcome": FAILED, "verdict": "wrong", "reason": told}
            yield self.subject, outcome | {"seconds": self._limits.seconds}
        self.subject = None

    def terminate(self) -> None:
        """Asks the process to end, with the worker of its runtime."""
        self.alive = False
        self._process.terminate()

    def end(self) -> None:
        """Ends the process and what it started."""
        self.terminate()
        process = self._process
        assert process.pid  # It was started.
        process.join(END_SECONDS)
        # Nothing of its group may be left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _death(self) -> str:
        self._process.join()
        status = self._process.exitcode or 0
        return ending(status)

    def _last_lines(self) -> list[str]:
        text = self._said.read_bytes()[-(2**14) :].decode(errors="replace")
        return [line.strip()[:LONGEST] for line in text.splitlines() if line.strip()][-LINES:]


def main(connection: Connection, terms: Terms, memory: int | None, said: str) -> None:
    """Examines the modules that a parent sends until it is gone; prints go to the file `said`."""
    _detach(said)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory is not None:
        _bound(memory * MIB)
    connection.send(None)
    with suppress(EOFError, OSError):
        while True:
            subject = connection.recv()
            for found in examined(subject, terms):
                connection.send(found)
            connection.send(None)


def _detach(said: str) -> None:
    """Makes the process the first of its group, with a file for all that anybody prints in it."""
    os.setsid()
    # Ctrl-C is the parent's to decide about.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminate)
    file = os.open(said, os.O_WRONLY | os.O_APPEND)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nowhere, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, place)
    # Whoever prints and dies has said it.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _end_with_parent() -> None:
    """Ends this process and what it started as soon as its parent is gone, however that ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # It was started by one.
    wait([parent.sentinel])
    os.killpg(os.getpid(), signal.SIGKILL)


def _terminate(number: int, frame: Any) -> NoReturn:
    # Unwinds, so that a runtime's own worker is ended too.
    raise SystemExit(128 + number)


def _bound(size: int) -> None:
    # Only POSIX has it. Addresses that are merely reserved, as those of a GPU, do not count.
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
