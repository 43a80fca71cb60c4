"""Replying: a whole answer written at once, past the messages of ASGI.

Two messages, each a coroutine that looks every header over, take longer than the answer of a small
model; what is sent here was made by this package, and has its length among its headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

__all__ = ["Reply", "last_answer", "reply"]

_STATUS_LINES: Final = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}

Headers = Iterable[tuple[bytes, bytes]]
Reply = Callable[[int, Headers, bytes], bool]
"""Takes status, headers and body of an answer; returns whether it was sent."""


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
    if cycle.disconnected:
        return True
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
    cycle.transport.write(b"".join(parts))
    cycle.transport.write(body)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True
