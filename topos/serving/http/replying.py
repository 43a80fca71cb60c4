"""Replying: a whole answer written at once, past the messages of ASGI.

Two messages, each a coroutine that looks every header over, take longer than the answer of a small
model; what is sent here was made by this package, and has its length among its headers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["Headers", "Reply", "Turn", "last_answer", "reply", "write"]

_STATUS_LINES: Final = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}

Headers = Sequence[tuple[bytes, bytes]]
Reply = Callable[[int, Headers, bytes], object]
"""Takes status, headers and body of an answer."""


def last_answer(status: int, identifier: bytes, body: bytes) -> bytes:
    """Returns an answer in JSON after which its connection is closed."""
    headers = (
        b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n"
        b"x-request-id: %b\r\n\r\n"
    )
    return _STATUS_LINES[status] + headers % (len(body), identifier) + body


def reply(cycle: RequestResponseCycle, status: int, headers: Headers, body: bytes) -> bool:
    """Answers the request of a cycle, unless the client has to read first, or sent a HEAD."""
    if cycle.response_started or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
        return False
    write(cycle, status, headers, body)
    return True


class Turn:
    """What a connection keeps of a request that is answered without a cycle of uvicorn's.

    To its connection it is one: it has the same attributes as far as anybody looks at them.
    """

    response_started = response_complete = disconnected = waiting_for_100_continue = False
    # Nobody waits for it.
    message_event = asyncio.Event()

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        parser = protocol.parser
        self.keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        self.default_headers = protocol.server_state.default_headers
        self.transport, self.on_response = protocol.transport, protocol.on_response_complete


def write(cycle: RequestResponseCycle | Turn, status: int, headers: Headers, body: bytes) -> None:
    """Writes the whole answer to the request of a cycle, if its client is still there."""
    if cycle.disconnected:
        return
    parts = [_STATUS_LINES.get(status, b"HTTP/1.1 %d \r\n" % status)]
    for name, value in cycle.default_headers:
        parts += (name, b": ", value, b"\r\n")
    for name, value in headers:
        if name == b"connection":
            # No answer has another to say of it than that it is closed.
            cycle.keep_alive = False
        else:
            parts += (name, b": ", value, b"\r\n")
    parts.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
    cycle.transport.write_whole(b"".join(parts), body)  # type: ignore[attr-defined]  # Ours.
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
