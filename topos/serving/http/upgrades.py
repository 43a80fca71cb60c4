"""Upgrades: a head that asks for another protocol, told to a parser again as if it did not."""

from __future__ import annotations

from collections.abc import Iterable

import httptools

__all__ = ["fresh_parser", "plain_head"]


def fresh_parser(protocol: object) -> httptools.HttpRequestParser:
    """Returns a parser that calls `protocol` back."""
    parser = httptools.HttpRequestParser(protocol)
    # As uvicorn has it: what follows a request that closes the connection is left.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def plain_head(
    parser: httptools.HttpRequestParser, url: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """Returns the head that `parser` has read without `Upgrade`.

    On account of that header it leaves the body, whose length the others tell.
    """
    fields = [b"%b: %b\r\n" % field for field in headers if field[0] != b"upgrade"]
    version = parser.get_http_version().encode()
    first = b"%b %b HTTP/%b\r\n" % (parser.get_method(), url, version)
    return b"".join([first, *fields, b"\r\n"])
