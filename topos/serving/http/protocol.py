"""The protocol of a connection: uvicorn's, which waits for a client for ever, with time limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import httptools
import msgspec
from uvicorn.config import Config
from uvicorn.server import ServerState

from topos.serving.http.body import Bodies
from topos.serving.http.head_size import HeadSize
from topos.serving.http.joined import JoinedTransport
from topos.serving.http.malformed import fault
from topos.serving.http.reader_watch import ReaderWatch
from topos.serving.http.replying import last_answer
from topos.serving.http.upgrades import fresh_parser, plain_head
from topos.serving.http.whole import Take, WholeProtocol

__all__ = ["LimitedProtocol"]

Refused = Callable[[int, int], bytes]
"""Takes status and size of a refusal that no application gave; returns its identifier."""

# Each takes a hundred times the memory of its shortest text.
_WAITING: Final = 256


class LimitedProtocol(WholeProtocol):
    """Ends a connection whose client takes too long over a head, or over a body nobody wants.

    A request that cannot be read is refused once those before it are answered, and ends the
    connection. The fields of trailers are dropped, and `Upgrade` is: there is nothing to upgrade
    to.
    """

    def __init__(
        self,
        bodies: Bodies,
        refused: Refused,
        take: Take,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(take, config, server_state, app_state, _loop)
        self.limits, self._refused = bodies.limits, refused
        self._bodies = bodies
        self._in_head = True
        self._in_body = False
        self._head = HeadSize(bodies.limits.head_bytes)
        # Bytes since the last ones of the body, and those of the fields of its trailers.
        self._silence = self._trailers = 0
        self._upgrades = False
        self._unanswered = 0
        self._last: tuple[int, str] | None = None
        self._half_closed = False
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuses a connection beyond the limit, and expects a head from any other."""
        self._joined = JoinedTransport(transport)
        self._reader = ReaderWatch(self._joined, self._bodies, self.loop)
        super().connection_made(self._joined)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "connection: the server has as many as it takes")
            return
        self._expect(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expects nothing more."""
        self._expect(None)
        self._reader.stop()
        self._reader.hold(0)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent; a head may come in parts, within its limits."""
        if self._deaf():
            return
        self._unset_keepalive_if_required()
        self._head.arrive(len(data), self._in_body)
        self._silence += len(data)
        self._feed(data)
        if self._deaf():
            return
        if not self._in_head:
            if self._in_body and self._silence > self.limits.head_bytes:
                self._refuse_head()
            self._await_next()
            return
        if self._head.is_long():
            self._refuse_head()
        elif self._watch is None:
            self._expect(self.limits.head_seconds)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio reads the answer.
        """Answers what arrived whole before the client closed its half of the connection."""
        if self._in_body and self._last is None:
            if not self._waits():
                return False
            self._forget()
        self._half_closed = True
        return self._unanswered > 0 and not self.transport.is_closing()

    def on_message_begin(self) -> None:
        """Starts a head, whose time is its own: empty lines before it had that of the idle."""
        self._in_head, self._in_body = True, False
        self._head.begin()
        self._expect(None)
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """Takes a part of the body."""
        self._silence = 0
        super().on_body(body)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a field of the head; one of trailers is counted and dropped (RFC 9110, 6.5.1)."""
        if not self._in_body:
            super().on_header(name, value.rstrip(b" \t"))
            return
        self._trailers += len(name) + len(value) + 4
        if self._trailers > self.limits.head_bytes:
            self._refuse_head()
            raise httptools.HttpParserError("the trailers are too long")

    def on_headers_complete(self) -> None:
        """Ends the head: the application has its own time limit for the body."""
        if self._head.may_be_long():
            self._require_short_head()
        self._head.end()
        if len(self.pipeline) >= _WAITING:
            self._refuse(503, f"connection: {_WAITING} requests wait for their answers already")
            raise httptools.HttpParserError("the pipeline is too long")
        if self.parser.should_upgrade():
            self._require_no_tunnel()
            # The parser stops here, and `_feed` starts another.
            self._upgrades = True
            return
        self._expect(None)
        self._silence = self._trailers = 0
        self._in_head, self._in_body = False, True
        self._unanswered += 1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Ends the body."""
        if self._upgrades:
            return
        self._in_body = False
        self._expect(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Waits for the rest of the next head, or of a body that the answer did without."""
        self._joined.flush()
        self._unanswered -= 1
        super().on_response_complete()
        if self.transport.is_closing():
            self._reader.start()
        elif not self._unanswered and self._last is not None:
            self._refuse_now(*self._last)
        elif not self._unanswered and self._half_closed:
            self.transport.close()
        elif self._in_head and not self._unanswered:
            self._expect(self.limits.head_seconds)
        elif self._in_body and self.cycle.response_complete:
            self._expect(self.limits.body_seconds)

    def pause_writing(self) -> None:
        """Expects the client to read what waits for it."""
        super().pause_writing()
        self._reader.hold(self._joined.get_write_buffer_size())
        self._reader.start()

    def resume_writing(self) -> None:
        """Ends what `pause_writing` began."""
        super().resume_writing()
        self._reader.hold(0)
        self._reader.stop()
        # One who is about to be closed has the rest to read all the same.
        if self.transport.is_closing():
            self._reader.start()

    def timeout_keep_alive_handler(self) -> None:
        """Closes an idle connection, to a client that no longer reads as well."""
        super().timeout_keep_alive_handler()
        self._reader.start()

    def _deaf(self) -> bool:
        """Returns whether nothing that the client may still send is taken."""
        return self._last is not None or self.transport.is_closing()

    def _feed(self, data: bytes) -> None:
        try:
            while data:
                data = self._parsed(data)
            self.begin_held()
        except httptools.HttpParserError as error:
            self._refuse(400, fault(error))

    def _parsed(self, data: bytes) -> bytes:
        """Returns nothing, or what is to be parsed again after an `Upgrade`."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrades = False
            head = plain_head(self.parser, self.url, self.headers)
            self.parser = fresh_parser(self)
            return head + data[upgrade.args[0] :]
        return b""

    def _require_no_tunnel(self) -> None:
        if self.parser.get_method() == b"CONNECT":
            self._refuse(400, "method: CONNECT needs a proxy, which this server is not")
            raise httptools.HttpParserError("the request asks for a tunnel")

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
        if self._in_head and self._unanswered:
            # Who waits for an answer may go on with the next request after it, and has the
            # whole time for that.
            return
        if self._in_head:
            self._refuse(408, "headers: did not arrive in time")
        else:
            self.transport.close()
            self._reader.start()

    def _refuse(self, status: int, reason: str) -> None:
        """Refuses the request that arrives, after the answers to those before it."""
        if self._deaf():
            return
        self.begin_held()
        self._expect(None)
        self._last = status, reason
        if self._in_body and self.cycle.response_started:
            # A second answer to it would be taken for that to another.
            self.transport.close()
            self._reader.start()
        elif self._in_body:
            self._forget()
        if not self._unanswered and not self.transport.is_closing():
            self._refuse_now(status, reason)

    def _waits(self) -> bool:
        """Returns whether the request that arrives waits for answers to others."""
        return bool(self.pipeline) and self.pipeline[0][0] is self.cycle

    def _forget(self) -> None:
        """Gives up the request whose body arrives."""
        self._in_body = False
        self._unanswered -= 1
        if self._waits():
            self.pipeline.popleft()
        else:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _refuse_now(self, status: int, reason: str) -> None:
        body = msgspec.json.encode({"error": reason})
        self.transport.write(last_answer(status, self._refused(status, len(body)), body))
        self.transport.close()
        self._reader.start()
