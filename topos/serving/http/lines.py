"""Lines: what is written by a thread of its own, so that a slow reader holds nobody up."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Lines"]

Line = TypeVar("Line")


class Lines(Generic[Line]):
    """Lines on their way to whatever writes them, which may block for as long as it likes.

    A line that finds too many before it is dropped, and counted in `lost` with those that could
    not be written. The thread is there while there is anything to write, and ends no later than
    the process does.
    """

    def __init__(
        self, write: Callable[[list[Line]], None], *, most: int, gather: float = 0.0
    ) -> None:
        """`write` may raise `OSError`; it gets what came within `gather` seconds at once."""
        self._write, self._most, self._gather = write, most, gather
        self._lines: deque[Line] = deque()
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = 0

    def put(self, line: Line) -> None:
        """Takes a line, or drops it; any thread may call."""
        with self._lock:
            if len(self._lines) >= self._most:
                self.lost += 1
                return
            self._lines.append(line)
            if self._thread is None:
                self._start()

    def flush(self, seconds: float) -> None:
        """Returns once every line is written, or `seconds` have passed."""
        self._hurry.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        self._hurry.clear()

    def _start(self) -> None:
        # A daemon: the end of the process waits for no other thread.
        thread = threading.Thread(target=self._run, name="topos lines", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system has no more threads.
            self.lost += len(self._lines)
            self._lines.clear()
        else:
            self._thread = thread

    def _run(self) -> None:
        while True:
            self._hurry.wait(self._gather)
            with self._lock:
                lines = list(self._lines)
                self._lines.clear()
                if not lines:
                    self._thread = None
                    return
            try:
                self._write(lines)
            # A full disk or a closed pipe is no reason to stop, nor is a stream closed meanwhile.
            except (OSError, ValueError):
                self.lost += len(lines)
