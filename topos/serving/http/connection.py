"""Connections: uvicorn's protocol behind limits of time, size and number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from topos.serving.http.body import Bodies
from topos.serving.http.framing import Framing, UnreadableError


class _CorkedTransport:
    """A transport that holds back what is written while `corked`, and sends it as one.

    uvicorn writes the head of a response and its body apart, and each write wakes the client up.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        # All else goes straight through: a method around each would take longer than most of them.
        self.abort, self.is_closing = transport.abort, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size
        self._parts: list[bytes | bytearray | memoryview] = []
        self.corked = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends `data`, or holds it back."""
        if self.corked:
            self._parts.append(data)
        else:
            self._transport.write(data)

    def uncork(self) -> None:
        """Sends what was held back, if the client is still there."""
        self.corked = False
        parts, self._parts = self._parts, []
        # uvloop raises where the client is gone.
        if parts and not self.is_closing():
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Sends what was held back, and closes the connection."""
        self.uncork()
        self._transport.close()


Refused = Callable[[int, int], bytes]
"""Takes status and size of a refusal that no application gave; returns its identifier."""

# As much as uvicorn lets wait for an application.
_HELD: Final = 2**16
_HEAD: Final = (
    b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"connection: close\r\n"
)


class Connection(asyncio.Protocol):
    """Passes requests on to uvicorn's protocol one at a time, and refuses what breaks a limit.

    The application finds it in `scope["state"]["connection"]`, asks it whether a body is `whole`,
    and tells it by `answered` when a request is done with.
    """

    def __init__(
        self,
        bodies: Bodies,
        refused: Refused,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._bodies, self._limits, self._refused = bodies, bodies.limits, refused
        self._loop = _loop or asyncio.get_running_loop()
        self._connections = server_state.connections
        state = {**app_state, "connection": self}
        self._server = HttpToolsProtocol(config, server_state, state, self._loop)
        self._framing = Framing(bodies.limits.head_bytes)
        # Whether the server has the present request, and whether its answer is due.
        self._passed = self._due = False
        self._half_closed = self._paused = False
        self._expected: str | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._answers = self._unread = 0

    @property
    def whole(self) -> bool:
        """Whether the present request has arrived."""
        return not self._framing.in_body

    @property
    def closing(self) -> bool:
        """Whether the connection is closed, or about to be."""
        return self._transport.is_closing()

    def cork(self) -> None:
        """Holds the response back until it is `answered` whole."""
        self._transport.corked = True

    def answered(self) -> None:
        """Takes up the next request: the application is done with the present one."""
        self._transport.uncork()
        self._due = False
        self._answers += 1
        self._watch_reader()
        if self.closing:
            return
        if self._framing.in_body:
            # A client that was refused early may send the rest, which is dropped.
            self._expect("body")
        elif self._framing.held or self._half_closed or self._paused:
            self._advance()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refuses a connection beyond the limit, and expects a head from any other."""
        self._transport = _CorkedTransport(transport)  # type: ignore[arg-type]  # Of a stream.
        # It has all that uvicorn calls.
        self._server.connection_made(self._transport)  # type: ignore[arg-type]
        if len(self._connections) > self._limits.connections:
            self._refuse(503, "connection: the server has as many as it takes")
        else:
            self._expect("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """Expects nothing more."""
        self._expect(None)
        if self._watch is not None:
            self._watch.cancel()
        self._hold(0)
        self._server.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what the client sent."""
        if self.closing:
            return
        # uvicorn may have gone on with reading.
        self._paused = False
        self._framing.arrive(data)
        self._advance()

    def eof_received(self) -> bool:
        """Keeps the connection for the answer to what arrived whole."""
        self._half_closed = True
        return self._due and self.whole

    def pause_writing(self) -> None:
        """Counts what the client has to read with the bodies that are held."""
        self._server.pause_writing()
        self._hold(self._transport.get_write_buffer_size())
        self._watch_reader(anew=True)

    def resume_writing(self) -> None:
        """Ends what `pause_writing` began."""
        self._server.resume_writing()
        self._hold(0)

    def _advance(self) -> None:
        """Passes on what has arrived of the present request, and of the next after its answer."""
        framing = self._framing
        try:
            while self._pass_on() and not (self._due or framing.in_body):
                # The rest of a request that was answered early; what follows is another.
                self._expect("idle")
        except UnreadableError as error:
            self._refuse(error.status, error.reason)
            return
        waits = self._due and self.whole
        if self._half_closed and not waits:
            self._close()
        elif not self.closing:
            self._pause(waits and framing.held > _HELD)

    def _pass_on(self) -> bool:
        """Passes a part on to the server, and returns whether there was one."""
        framing = self._framing
        if not (self._due or framing.in_head or framing.in_body):
            framing.begin()
            self._passed = False
        part = framing.take()
        if part:
            if not self._passed:
                self._passed = self._due = True
                self._expect(None)
            self._server.data_received(part)
        elif framing.in_head and framing.held and self._expected != "head":
            # A head has its own time: any data stop uvicorn's clock for idle connections.
            self._server.data_received(b"")
            self._expect("head")
        return bool(part)

    def _pause(self, paused: bool) -> None:
        """Stops reading while more waits than is held, or goes on with it."""
        if paused and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not paused:
            self._transport.resume_reading()
        self._paused = paused

    def _expect(self, what: str | None) -> None:
        """Gives the client its time for a head, the rest of a body, or any other request."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._expected = what
        if what is not None:
            limits = self._limits
            seconds = {
                "head": limits.head_seconds,
                "body": limits.body_seconds,
                "idle": limits.keep_alive_seconds,
            }
            self._clock = self._loop.call_later(seconds[what], self._late)

    def _late(self) -> None:
        if self._expected == "head":
            self._refuse(408, "headers: did not arrive in time")
        else:
            self._close()

    def _refuse(self, status: int, reason: str) -> None:
        """Answers the present request in place of the application, and closes the connection."""
        self._expect(None)
        answerable = self._due or not self._passed
        if self._due:
            # What has begun to leave cannot be taken back.
            answerable = not self._transport.get_write_buffer_size()
            self._server.connection_lost(ConnectionAbortedError(reason))
        if answerable and not self.closing:
            body = msgspec.json.encode({"error": reason})
            head = _HEAD % (status, HTTPStatus(status).phrase.encode(), len(body))
            identifier = self._refused(status, len(body))
            self._transport.write(head + b"x-request-id: %b\r\n\r\n" % identifier + body)
        self._close()

    def _close(self) -> None:
        self._transport.close()
        self._watch_reader(anew=True)

    def _hold(self, unread: int) -> None:
        self._bodies.held += unread - self._unread
        self._unread = unread

    def _watch_reader(self, anew: bool = False) -> None:
        """Looks later whether the client has read anything of what there is to read."""
        if anew and self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._watch is None:
            seconds, unread = self._limits.body_seconds, self._transport.get_write_buffer_size()
            self._watch = self._loop.call_later(seconds, self._look, self._answers, unread)

    def _look(self, answers: int, unread: int) -> None:
        """Gives up a client that has read nothing since there were so many answers and bytes."""
        self._watch = None
        left = self._transport.get_write_buffer_size()
        if 0 < unread <= left and answers == self._answers:
            self._transport.abort()
        elif left:
            self._watch_reader()
