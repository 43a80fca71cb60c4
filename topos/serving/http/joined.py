"""Joined writes: the head of an answer leaves together with the body behind it."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["JoinedTransport"]


class JoinedTransport(asyncio.Transport):
    """A transport that holds a head back until there is a body to send with it.

    uvicorn writes the two apart, and each write wakes the client up: a third of the time of a
    small request. Whoever ends an answer has to `flush`, as one without a body has nothing behind
    its head.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends what is held and `data`, or holds `data` where it is the head of an answer."""
        # uvloop raises where the client is gone, which an answer finds out last of all.
        if self.is_closing():
            return
        if not self._head and data[:9] == b"HTTP/1.1 " and data[9:10] != b"1":
            self._head = bytes(data)
            return
        if self._head:
            head, self._head = self._head, b""
            self.write_whole(head, data)
        else:
            self._transport.write(data)

    def write_whole(self, head: bytes, body: bytes | bytearray | memoryview) -> None:
        """Sends what is held, then an answer, if the client is still there."""
        self.flush()
        if self.is_closing():
            return
        # A copy of a large body would take longer than the kernel's second call.
        if len(body) > 2**16:
            self._transport.write(head)
            self._transport.write(body)
        else:
            self._transport.write(head + body)

    def flush(self) -> None:
        """Sends what is held."""
        if self._head:
            head, self._head = self._head, b""
            if not self.is_closing():
                self._transport.write(head)

    def close(self) -> None:
        """Sends what is held, and closes the connection."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """Returns how many bytes wait for the client to read."""
        return self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Returns whether the connection is closed, or about to be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Returns what is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Takes nothing more from the client for now."""
        # uvloop raises where the connection is closed.
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Takes what the client sends again."""
        if not self.is_closing():
            self._transport.resume_reading()
