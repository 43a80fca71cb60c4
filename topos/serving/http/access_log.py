"""The access log: one line of JSON for each request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import BinaryIO, Final

import msgspec

from topos.serving.http.exchange import Exchange
from topos.serving.http.lines import Lines

__all__ = ["AccessLog"]

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
