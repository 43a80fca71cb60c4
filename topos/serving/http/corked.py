"""Corked transports: the parts of a response leave in one write."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["CorkedTransport"]


class CorkedTransport(asyncio.Transport):
    """A transport that holds back what is written while `corked`, and sends it as one.

    uvicorn writes the head of a response and its body apart, and each write wakes the client up.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
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

    def abort(self) -> None:
        """Closes the connection at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Returns whether the connection is closed, or about to be."""
        return self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """Returns how many bytes wait for the client to read."""
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Returns what is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Takes nothing more from the client for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Takes what the client sends again."""
        self._transport.resume_reading()
