"""Watching a reader: a client that has answers to read is given up where it reads nothing."""

from __future__ import annotations

import asyncio

from topos.serving.http.body import Bodies
from topos.serving.http.joined import JoinedTransport

__all__ = ["ReaderWatch"]


class ReaderWatch:
    """The clock of one client's reading, which starts anew for as long as something is read."""

    def __init__(
        self, transport: JoinedTransport, bodies: Bodies, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._transport, self._bodies, self._loop = transport, bodies, loop
        self._timer: asyncio.TimerHandle | None = None
        self._held = 0

    def start(self) -> None:
        """Expects the client to read on."""
        self.stop()
        seconds, unread = self._bodies.limits.body_seconds, self._transport.get_write_buffer_size()
        self._timer = self._loop.call_later(seconds, self._look, unread)

    def stop(self) -> None:
        """Expects nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def hold(self, unread: int) -> None:
        """Counts the bytes that wait for the client with the bodies of requests."""
        self._bodies.held += unread - self._held
        self._held = unread

    def _look(self, unread: int) -> None:
        """Gives up a client that has read nothing since there were so many bytes to read."""
        if self._transport.get_write_buffer_size() < unread:
            self.start()
        else:
            self._transport.abort()
