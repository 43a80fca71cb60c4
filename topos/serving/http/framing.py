"""Framing: where each request on a connection starts and ends, and what of it is refused unread."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import httptools

_TOKEN: Final = rb"[\w!#$%&'*+.^`|~-]+"
# RFC 9112, sections 7.1 and 7.1.2, without quoted values of extensions.
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;%b(?:=%b)?)*\r\n" % (_TOKEN, _TOKEN))
_TRAILERS: Final = re.compile(rb"(?:%b:[^\r\n\0]*\r\n)*\r\n" % _TOKEN)
_UPGRADE: Final = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)

# What the parser says, which is a text of its own and no class.
_FAULTS: Final = {
    "Invalid character in Content-Length": "Content-Length: needs a number of bytes",
    "Content-Length overflow": "Content-Length: is larger than any body",
    "Duplicate Content-Length": "Content-Length: is given twice",
    "Content-Length can't be present with Transfer-Encoding": (
        "Content-Length: is given beside Transfer-Encoding"
    ),
    "Transfer-Encoding can't be present with Content-Length": (
        "Transfer-Encoding: is given beside Content-Length"
    ),
    "Request has invalid `Transfer-Encoding`": "Transfer-Encoding: needs chunked",
    "Invalid `Transfer-Encoding` header value": "Transfer-Encoding: needs chunked",
    "Invalid header token": "headers: have a name with a character that none may have",
    "Invalid header value char": "headers: have a value with a character that none may have",
    "Invalid HTTP version": "request: is of no version of HTTP that is served, which is 1.1",
    "Pause on PRI/Upgrade": "request: is of no version of HTTP that is served, which is 1.1",
}


class UnreadableError(Exception):
    """A request that cannot be read on; `status` and `reason` are those of its refusal."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Framing:
    """Cuts what a client sends into requests, and gives out one at a time.

    A head is given out whole, and only where the server's parser takes it, without `Upgrade`:
    there is nothing to upgrade to. Trailers are read and dropped. `in_head` and `in_body` say
    where the present request stands; it has ended where neither does.
    """

    def __init__(self, most: int) -> None:
        """`most` bounds the bytes of a head, and those of trailers."""
        self._most = most
        self._held = b""
        self.begin()

    def begin(self) -> None:
        """Begins the next request."""
        self.in_head, self.in_body = True, False
        self._partial: _HeadParser | None = None
        # Bytes of the head that were parsed, and bytes to come of the body or of a chunk.
        self._read = self._left = 0
        self._chunked, self._first = False, True

    @property
    def held(self) -> int:
        """How many bytes have arrived and are not given out."""
        return len(self._held)

    def arrive(self, data: bytes) -> None:
        """Takes what the client sent."""
        self._held = self._held + data if self._held else data

    def take(self) -> bytes:
        """Returns what has arrived of the present request; raises `UnreadableError`."""
        head, start = b"", 0
        if self.in_head:
            found = self._parsed()
            if found is None:
                return b""
            head, start, self._left, self._chunked = found
            self.in_head, self.in_body = False, self._chunked or self._left > 0
        elif not self.in_body:
            return b""
        if self._chunked:
            stop, body = self._chunks(start)
        else:
            stop = min(len(self._held), start + self._left)
            self._left -= stop - start
            self.in_body = self._left > 0
            body = self._held[start:stop]
        self._held = self._held[stop:]
        return head + body

    def _parsed(self) -> _Head | None:
        """Returns the head of the present request, or None where it has not arrived."""
        if not self._read:
            # RFC 9112, section 2.2: empty lines before a request are ignored.
            self._held = self._held.lstrip(b"\r\n")
        held = self._held
        found = held.find(b"\r\n\r\n", max(self._read - 3, 0))
        end = len(held) if found < 0 else found + 4
        if end > self._most:
            raise self._long()
        if found >= 0:
            return (_remembered if end <= _REMEMBERED_BYTES else _head)(held[:end])
        if held:
            # What cannot become a head is refused now: its client may send nothing more.
            self._partial = self._partial or _HeadParser()
            self._partial.feed(held[self._read :], False)
            self._read = end
        return None

    def _chunks(self, at: int) -> tuple[int, bytes]:
        """Returns how far chunks reach that have arrived, from `at` on, and their bytes."""
        start, held = at, self._held
        while True:
            step = min(self._left, len(held) - at)
            self._left -= step
            at += step
            if self._left:
                return at, held[start:at]
            # Behind the data of a chunk stands the end of a line.
            line = at if self._first else at + 2
            if not b"\r\n".startswith(held[at:line]):
                raise _not_in_chunks()
            found = _CHUNK.match(held, line)
            if found is None:
                if held.find(b"\r\n", line) >= 0:
                    raise _not_in_chunks()
                self._require_short(at)
                return at, held[start:at]
            if not int(found[1], 16):
                return self._ended(start, at, found.end())
            at, self._left, self._first = found.end(), int(found[1], 16), False

    def _ended(self, start: int, at: int, trailers: int) -> tuple[int, bytes]:
        """Ends a body whose last chunk begins at `at`, unless its trailers are still to come."""
        found = _TRAILERS.match(self._held, trailers)
        if found is None and b"\r\n\r\n" in self._held[trailers - 2 :]:
            raise UnreadableError(400, "trailers: have a line that is no field")
        self._require_short(trailers, found.end() if found else None)
        if found is None:
            return at, self._held[start:at]
        self.in_body = False
        last = b"0\r\n\r\n" if self._first else b"\r\n0\r\n\r\n"
        return found.end(), self._held[start:at] + last

    def _require_short(self, start: int, end: int | None = None) -> None:
        if (len(self._held) if end is None else end) - start > self._most:
            raise self._long()

    def _long(self) -> UnreadableError:
        return UnreadableError(431, f"headers: at most {self._most} bytes are taken")


class _Head(NamedTuple):
    """A head as it is given out, the bytes that it arrived in, and how its body is framed."""

    text: bytes
    size: int
    length: int
    chunked: bool


def _head(text: bytes) -> _Head:
    """Returns a whole head, without `Upgrade`; raises `UnreadableError`."""
    parser, size = _HeadParser(), len(text)
    parser.feed(text, True)
    if parser.upgrades:
        text, parser = _UPGRADE.sub(b"", text), _HeadParser()
        parser.feed(text, True)
        if parser.upgrades:
            raise UnreadableError(400, "Upgrade: there is no other protocol here")
    return _Head(text, size, parser.length, parser.chunked)


_REMEMBERED_BYTES: Final = 1024
# Clients send few heads over and over, and to parse one takes as long as all else here.
_remembered = lru_cache(1024)(_head)


class _HeadParser:
    """The head of one request, parsed as the server's own parser does."""

    def __init__(self) -> None:
        self._url = b""
        self._is_whole = False
        self.length, self.chunked, self.upgrades = 0, False, False
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, part: bytes, last: bool) -> None:
        """Parses a part of the head; raises `UnreadableError`."""
        try:
            self._parser.feed_data(part)
        except httptools.HttpParserUpgrade:
            self.upgrades = True
        except httptools.HttpParserError as error:
            raise UnreadableError(400, _fault(error)) from error
        if self._is_whole is not last:
            raise UnreadableError(400, "request: has a line that does not end as HTTP's do")

    def on_url(self, url: bytes) -> None:
        """Takes a part of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a field, of which those count that tell where the body ends."""
        match name.lower():
            case b"content-length":
                # Zeros in front may be any number, and Python reads no thousands of digits.
                self.length = int(value.strip().lstrip(b"0") or b"0")
            case b"transfer-encoding":
                self.chunked = True

    def on_headers_complete(self) -> None:
        """Requires a method and a target that the server takes."""
        if self._parser.get_method() == b"CONNECT":
            raise UnreadableError(400, "method: CONNECT needs a proxy, which this server is not")
        httptools.parse_url(self._url).path.decode("ascii")
        self._is_whole = True


def _fault(error: BaseException) -> str:
    """Returns the reason for which the parser gave a request up, its part in front."""
    # An error in a callback comes inside another of the parser's own.
    found = error.__context__ if isinstance(error, httptools.HttpParserCallbackError) else error
    match found:
        case UnreadableError():
            return found.reason
        case httptools.HttpParserInvalidMethodError():
            return "method: is none of HTTP's"
        case httptools.HttpParserInvalidURLError():
            return "path: is none that HTTP allows"
        case _:
            return _FAULTS.get(str(found), "request: is not HTTP/1.1")


def _not_in_chunks() -> UnreadableError:
    return UnreadableError(400, "body: is not in chunks, as its Transfer-Encoding says")
