"""The access log: one line of JSON for each request, written by a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import BinaryIO, Final, Generic, TypeVar

import msgspec

from topos.serving.http.exchange import Exchange

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


_ENCODER: Final = msgspec.json.Encoder()
_SECONDS: Final = 0.2
_FLUSH_SECONDS: Final = 2.0
_MOST_LINES: Final = 20_000


class _Line(msgspec.Struct, gc=False):
    time: datetime
    request_id: str
    method: str
    path: str
    model: str
    status: int
    bytes: int
    milliseconds: float
    rows: int


class AccessLog:
    """Writes lines to a stream, a few times a second and never on the loop.

    A stream that does not keep up loses lines, counted in `lost`, rather than hold up the server.
    """

    def __init__(self, stream: BinaryIO | None) -> None:
        self._stream = stream
        self._lines = Lines(self._write, most=_MOST_LINES, gather=_SECONDS)

    @property
    def lost(self) -> int:
        """How many lines were not written."""
        return self._lines.lost

    def record(self, exchange: Exchange, status: int, size: int, seconds: float) -> None:
        """Takes an answered request; `size` is that of the answer's body in bytes."""
        if self._stream is None:
            return
        line = _Line(
            datetime.now(UTC),
            exchange.identifier.decode("ascii"),
            exchange.method,
            exchange.path,
            exchange.model,
            status,
            size,
            round(seconds * 1e3, 3),
            exchange.rows,
        )
        self._lines.put(_ENCODER.encode(line) + b"\n")

    def flush(self) -> None:
        """Writes what is left, and gives up on a stream that does not take it soon."""
        self._lines.flush(_FLUSH_SECONDS)

    def _write(self, lines: list[bytes]) -> None:
        assert self._stream is not None
        left = memoryview(b"".join(lines))
        # A stream without a buffer may take a part at a time, or nothing where it never waits.
        while left:
            taken = self._stream.write(left)
            if not taken:
                raise BlockingIOError("the log takes nothing more")
            left = left[taken:]
        self._stream.flush()
