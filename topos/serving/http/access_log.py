"""The access log: one line of JSON for each request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import BinaryIO, Final

import msgspec

from topos.serving.http.exchange import Exchange

__all__ = ["AccessLog"]

_ENCODER: Final = msgspec.json.Encoder()
_SECONDS: Final = 0.2
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
        self._lines: list[bytes] = []
        self._scheduled = False
        self.lost = 0

    def record(self, exchange: Exchange, status: int, size: int, seconds: float) -> None:
        """Takes an answered request; `size` is that of the answer's body in bytes."""
        if self._stream is None:
            return
        if len(self._lines) >= _MOST_LINES:
            self.lost += 1
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
        self._lines.append(_ENCODER.encode(line) + b"\n")
        if not self._scheduled:
            self._schedule()

    def flush(self) -> None:
        """Writes what is left, on this thread."""
        lines, self._lines = self._lines, []
        self._write(lines)

    def _schedule(self) -> None:
        self._scheduled = True
        asyncio.get_running_loop().call_later(_SECONDS, self._hand_over)

    def _hand_over(self) -> None:
        lines, self._lines = self._lines, []
        writing = asyncio.get_running_loop().run_in_executor(None, self._write, lines)
        writing.add_done_callback(self._handed_over)

    def _handed_over(self, writing: asyncio.Future[None]) -> None:
        with suppress(asyncio.CancelledError):
            writing.result()
        self._scheduled = False
        if self._lines:
            self._schedule()

    def _write(self, lines: list[bytes]) -> None:
        if self._stream is None or not lines:
            return
        try:
            self._stream.write(b"".join(lines))
            self._stream.flush()
        except OSError:
            # A full disk or a closed pipe is no reason to stop answering.
            self.lost += len(lines)
