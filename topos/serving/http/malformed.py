"""Malformed requests: what is wrong with one, told under the name of the part at fault."""

from __future__ import annotations

from typing import Final

import httptools

__all__ = ["fault"]

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
    "Invalid character in chunk size": "body: is not in chunks, as its Transfer-Encoding says",
    "Chunk size overflow": "body: has a chunk that is larger than any body",
    "Expected LF after chunk data": "body: has a chunk that is longer than it says",
    "Invalid HTTP version": "request: is of no version of HTTP that is served, which is 1.1",
    "Pause on PRI/Upgrade": "request: is of no version of HTTP that is served, which is 1.1",
    "Invalid header token": "headers: have a name with a character that none may have",
    "Invalid header value char": "headers: have a value with a character that none may have",
}


def fault(error: BaseException) -> str:
    """Returns the reason for which the parser gave a request up, its part in front."""
    # An error in a callback comes inside another of the parser's own.
    found = error.__context__ if isinstance(error, httptools.HttpParserCallbackError) else error
    match found:
        case httptools.HttpParserInvalidMethodError():
            return "method: is none of HTTP's"
        case httptools.HttpParserInvalidURLError():
            return "path: is none that HTTP allows"
        case _:
            return _FAULTS.get(str(found), "request: is not HTTP/1.1")
