"""Bodies: what clients send, received within its limits and decompressed within them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from typing import Final

from starlette.types import Receive

from topos.serving.errors import RequestError, TooLargeError
from topos.serving.http.limits import Limits
from topos.serving.http.refusals import (
    BodyTimeoutError,
    ClientGoneError,
    EncodingError,
    OverloadedError,
)

__all__ = ["Bodies", "Body"]

# zlib's window bits: a zlib stream is what HTTP calls deflate (RFC 9110, 8.4.1.2).
_CODINGS: Final = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}
_STEP: Final = 2**20
# Those of the longest number that the parser takes for a length.
_DIGITS: Final = 20


class Bodies:
    """The bodies that are held at once, and answers that their clients have yet to read.

    Together they stay within `Limits.buffered_bytes`: what goes beyond is no longer taken.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0


class Body:
    """The body of one request; leaving the context gives back what it holds."""

    def __init__(
        self, bodies: Bodies, headers: Mapping[bytes, bytes], most: int | None = None
    ) -> None:
        """Refuses what the headers tell already, before anything is read.

        `most` is how many bytes are taken, where that is less than the limits say.
        """
        self._most = bodies.limits.body_bytes if most is None else most
        length = headers.get(b"content-length", b"0")
        # The server's parser let nothing but digits through, of which zeros may be any number.
        if len(length) > _DIGITS:
            raise RequestError("Content-Length", f"has {len(length)} digits")
        if int(length) > self._most:
            reason = f"has {int(length)} bytes, at most {self._most} are taken"
            raise TooLargeError("body", reason)
        coding = headers.get(b"content-encoding", b"identity").strip().lower()
        if coding != b"identity" and coding not in _CODINGS:
            raise EncodingError("Content-Encoding", "needs gzip, deflate or identity")
        self._bodies = bodies
        self._coding = _CODINGS.get(coding)
        self._held = 0

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.held -= self._held

    async def read(self, receive: Receive, whole: bool = False) -> bytes | bytearray:
        """Returns the whole body, decompressed.

        One that is `whole` has arrived already, and needs no clock: setting one takes a tenth of
        the time of a small request.
        """
        body = await self._received(receive) if whole else await self._awaited(receive)
        if self._coding is None:
            return body
        # The kernel of zlib lets other threads run, and a small body may grow large.
        return await asyncio.to_thread(self._decompressed, body, self._coding)

    async def _awaited(self, receive: Receive) -> bytes | bytearray:
        seconds = self._bodies.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._received(receive)
        except TimeoutError as error:
            raise BodyTimeoutError(seconds) from error

    async def _received(self, receive: Receive) -> bytes | bytearray:
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            whole: bytes = message.get("body", b"")
            self._take(len(whole), len(whole))
            return whole
        body = bytearray()
        while message["type"] == "http.request":
            chunk = message.get("body", b"")
            self._take(len(chunk), len(body) + len(chunk))
            body += chunk
            if not message.get("more_body"):
                return body
            message = await receive()
        raise ClientGoneError

    def _decompressed(self, body: bytes | bytearray, window: int) -> bytearray:
        decompressor = zlib.decompressobj(window)
        whole = bytearray()
        rest: bytes | bytearray = body
        try:
            while not decompressor.eof:
                # A bomb is refused within a step of the limit, whatever it would grow to.
                chunk = decompressor.decompress(rest, _STEP)
                self._take(len(chunk), len(whole) + len(chunk))
                whole += chunk
                rest = decompressor.unconsumed_tail
                if not chunk and not rest:
                    break
        except zlib.error as error:
            raise RequestError("body", f"does not decompress: {error}") from error
        if not decompressor.eof:
            raise RequestError("body", "does not decompress: it ends too early")
        if decompressor.unused_data:
            raise RequestError("body", "has bytes after the compressed data")
        return whole

    def _take(self, size: int, total: int) -> None:
        """Counts `size` bytes more, with which the body has `total`."""
        self._held += size
        self._bodies.held += size
        if total > self._most:
            raise TooLargeError("body", f"is longer than {self._most} bytes")
        if self._bodies.held > self._bodies.limits.buffered_bytes:
            raise OverloadedError
