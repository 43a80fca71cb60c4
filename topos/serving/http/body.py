"""Bodies: what clients send, received within its limits and decompressed within them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from typing import Final

from topos.serving.errors import RequestError, TooLargeError
from topos.serving.http.exchange import Receive
from topos.serving.http.limits import Limits
from topos.serving.http.refusals import (
    BodyTimeoutError,
    ClientGoneError,
    EncodingError,
    OverloadedError,
)

_CODINGS: Final = {b"gzip": b"gzip", b"x-gzip": b"gzip", b"deflate": b"deflate"}
_MAGIC: Final = b"\x1f\x8b"
# A member may be of 20 bytes, and takes as long as thousands.
_MEMBERS: Final = 2**16
_NONE: Final = (b"", b"identity")
_STEP: Final = 2**20
_PART: Final = 2**14
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
        self._coding = _coding(headers.get(b"content-encoding"))
        self._bodies = bodies
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

    def _decompressed(self, body: bytes | bytearray, coding: bytes) -> bytearray:
        whole, view = bytearray(), memoryview(body)
        if not body:
            raise RequestError("body", f"is empty, though Content-Encoding says {coding.decode()}")
        if coding == b"gzip" and not _MAGIC.startswith(bytes(view[:2])):
            raise RequestError("body", "is not gzip, though Content-Encoding says so")
        window = 31 if coding == b"gzip" else _window(view[:2])
        try:
            rest = self._stream(view, window, whole)
            members = 1
            # Members of gzip may follow one another (RFC 1952, section 2.2).
            while coding == b"gzip" and bytes(rest[:2]) == _MAGIC and members < _MEMBERS:
                rest = self._stream(rest, window, whole)
                members += 1
        except zlib.error as error:
            raise _damaged(window, "it is damaged") from error
        if rest:
            what = "bytes after the compressed data"
            if bytes(rest[:2]) == _MAGIC:
                what = f"more than {_MEMBERS} members"
            raise RequestError("body", f"has {what}")
        return whole

    def _stream(self, view: memoryview, window: int, whole: bytearray) -> memoryview:
        """Decompresses one stream into `whole`, and returns what follows it."""
        decompressor, end = zlib.decompressobj(window), 0
        while not decompressor.eof:
            # In small parts, for what a step leaves over is copied.
            rest: bytes | memoryview = view[end : end + _PART]
            if not rest:
                raise _damaged(window, "it ends too early")
            end += len(rest)
            chunk = b""
            while (rest or len(chunk) == _STEP) and not decompressor.eof:
                # A bomb is refused within a step of the limit, whatever it would grow to.
                chunk = decompressor.decompress(rest, _STEP)
                self._take(len(chunk), len(whole) + len(chunk))
                whole += chunk
                rest = decompressor.unconsumed_tail
        return view[end - len(decompressor.unused_data) :]

    def _take(self, size: int, total: int) -> None:
        """Counts `size` bytes more, with which the body has `total`."""
        self._held += size
        self._bodies.held += size
        if total > self._most:
            raise TooLargeError("body", f"is longer than {self._most} bytes")
        if self._bodies.held > self._bodies.limits.buffered_bytes:
            raise OverloadedError


def _coding(text: bytes | None) -> bytes | None:
    """Returns the one coding that a list of them has, or None; identity is none."""
    if text is None:
        return None
    named = [each for each in map(bytes.strip, text.lower().split(b",")) if each not in _NONE]
    if len(named) > 1 or any(each not in _CODINGS for each in named):
        needs = "needs gzip, deflate or identity, and one of them"
        raise EncodingError("Content-Encoding", f"{needs}, got {text[:80].decode('latin-1')!r}")
    return _CODINGS[named[0]] if named else None


def _damaged(window: int, reason: str) -> RequestError:
    # Without a header of zlib's, a damaged stream looks like any other bytes.
    if window < 0:
        return RequestError("body", "is not valid deflate, though Content-Encoding says so")
    return RequestError("body", f"does not decompress: {reason}")


def _window(start: memoryview) -> int:
    """Returns zlib's window bits for a stream of deflate that starts so.

    It has a header of zlib's (RFC 9110, section 8.4.1.2), which some clients leave out.
    """
    has_header = len(start) == 2 and start[0] & 15 == 8 and int.from_bytes(start) % 31 == 0
    return 15 if has_header else -15
