"""Connections to a server as bytes, so that a client may do what no library would."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final, NamedTuple, Self

__all__ = ["Connection", "LostError", "Reply"]

ANSWER_SECONDS: Final = 60.0
# SO_LINGER's on and seconds: closing then resets the connection.
RESET: Final = struct.pack("ii", 1, 0)


class LostError(Exception):
    """A connection that ended, or fell silent, without a whole answer."""


class Reply(NamedTuple):
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """One connection to a server of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Self:
        """Returns a new connection; raises `OSError` where there is no server any more."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, message: bytes, seconds: float = ANSWER_SECONDS) -> Reply:
        """Sends a request and returns its answer; raises `LostError`."""
        await self.send(message)
        return await self.reply(seconds)

    async def send(self, data: bytes) -> None:
        """Sends bytes, whether they are a request or not; the answer tells whether they came."""
        if self._writer.is_closing():
            return
        self._writer.write(data)
        try:
            await self._writer.drain()
        except OSError:
            # A server may answer and close before it was sent everything.
            return

    async def reply(self, seconds: float = ANSWER_SECONDS) -> Reply:
        """Returns the next answer; raises `LostError` where there is none within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                return await self._reply()
        except TimeoutError:
            raise LostError(f"no answer within {seconds:g} seconds") from None
        except (asyncio.IncompleteReadError, OSError) as error:
            raise LostError(f"the connection ended without an answer: {error!r}") from None

    async def close(self) -> None:
        """Closes the connection as a client does that is done."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return

    def reset(self) -> None:
        """Resets the connection, as a client does that dies."""
        if self._writer.is_closing():
            return
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    async def _reply(self) -> Reply:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Reply(int(first.split()[1]), headers, body)
