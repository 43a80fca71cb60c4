"""The protocol of a connection: uvicorn's, which waits for a client for ever, with time limits."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httptools
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from topos.serving.http.joined import JoinedTransport
from topos.serving.http.limits import Limits

__all__ = ["LimitedProtocol"]

_PHRASES: Final = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class LimitedProtocol(HttpToolsProtocol):
    """Ends a connection whose client takes too long over a head, or over a body nobody wants."""

    def __init__(
        self,
        limits: Limits,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.limits = limits
        self._in_head = True
        self._in_body = False
        self._head_size = 0
        self._chunk = 0
        self._watch: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuses a connection beyond the limit, and expects a head from any other."""
        self._joined = JoinedTransport(transport)
        super().connection_made(self._joined)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "connection: the server has as many as it takes")
            return
        self._expect(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expects nothing more."""
        self._expect(None)
        self._expect_reader(False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent; a head may come in parts, within its limits."""
        if self.transport.is_closing():
            return
        self._chunk = len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._in_head:
            self._await_next()
            return
        self._head_size += len(data)
        if self._head_size > self.limits.head_bytes:
            self._refuse_head()
        elif self._watch is None:
            self._expect(self.limits.head_seconds)

    def on_message_begin(self) -> None:
        """Starts a head."""
        self._in_head, self._in_body, self._head_size = True, False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Ends the head: the application has its own time limit for the body."""
        self._in_head, self._in_body = False, True
        self._expect(None)
        if self._head_size + self._chunk > self.limits.head_bytes:
            self._require_short_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Ends the body, and tells the application where it has not asked for it yet."""
        self._in_body = False
        self.scope["topos.whole"] = True  # type: ignore[typeddict-unknown-key]  # A key of ours.
        self._expect(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Waits for the rest of a body that the answer did without, so that it gets read."""
        self._joined.flush()
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._expect(self.limits.body_seconds)

    def pause_writing(self) -> None:
        """Expects the client to read what waits for it."""
        super().pause_writing()
        self._expect_reader(True)

    def resume_writing(self) -> None:
        """Ends what `pause_writing` began."""
        super().resume_writing()
        self._expect_reader(False)

    def timeout_keep_alive_handler(self) -> None:
        """Closes an idle connection, to a client that no longer reads as well."""
        super().timeout_keep_alive_handler()
        self._expect_reader(True)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP, in the form of every other error."""
        self._refuse(400, "request: is not HTTP/1.1")

    def _await_next(self) -> None:
        # uvicorn stops its clock for idle connections with any data, and not all start a request:
        # the rest of a body that nobody read does not, nor do empty lines.
        answered = self.cycle is not None and self.cycle.response_complete
        if answered and not self._in_body and self._watch is None:
            self._expect(self.limits.keep_alive_seconds)

    def _require_short_head(self) -> None:
        """Refuses a head that is too long, told apart from a body behind it in the same bytes."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.head_bytes:
            self._refuse_head()
            # This ends the parser, and with it the request; the base class has nothing to add.
            raise httptools.HttpParserError("the head is too long")

    def _refuse_head(self) -> None:
        self._refuse(431, f"headers: at most {self.limits.head_bytes} bytes are taken")

    def _expect(self, seconds: float | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._watch = None
        if self._in_head:
            self._refuse(408, "headers: did not arrive in time")
        else:
            self.transport.close()
            self._expect_reader(True)

    def _expect_reader(self, expected: bool) -> None:
        if self._reader is not None:
            self._reader.cancel()
        self._reader = None
        if expected:
            seconds, unread = self.limits.body_seconds, self._joined.get_write_buffer_size()
            self._reader = self.loop.call_later(seconds, self._read_on, unread)

    def _read_on(self, unread: int) -> None:
        """Gives up a client that has read nothing since there were so many bytes to read."""
        if self._joined.get_write_buffer_size() < unread:
            self._expect_reader(True)
        else:
            self._joined.abort()

    def _refuse(self, status: int, reason: str) -> None:
        if self.transport.is_closing():
            return
        self._expect(None)
        body = msgspec.json.encode({"error": reason})
        head = (
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
        self._expect_reader(True)
