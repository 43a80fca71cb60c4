"""Exchanges: one request, what a handler reads of it, and the table that leads to the handler."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from topos.serving.errors import RequestError
from topos.serving.http.answer import Answer
from topos.serving.http.refusals import MethodError, TransferError, UnknownPathError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# RFC 9110, section 7.2, but for the comma: a field that came twice has one.
_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+;=%-]*)(:[0-9]*)?")


async def _nothing() -> MutableMapping[str, Any]:
    return {"type": "http.disconnect"}


@dataclass(slots=True)
class Exchange:
    """What is known of a request by the time it is answered.

    `whole` says that the body has arrived. `path` is a template of the server's own, and `model`
    is empty unless it is one that is served: nothing that a client makes up becomes a label.
    """

    method: str
    identifier: bytes
    headers: Mapping[bytes, bytes]
    receive: Receive = _nothing
    query: bytes = b""
    whole: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    path: str = "unknown"
    model: str = ""
    rows: int = 0


def identifiers() -> Iterator[bytes]:
    """Yields identifiers that no other call yields, in this process or another."""
    start = os.urandom(6).hex()
    return (f"{start}-{count:x}".encode() for count in itertools.count())


def joined(fields: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Returns the headers by name; values of one that is repeated are joined by commas.

    That is what they mean (RFC 9110, section 5.3), and what a header of one value refuses.
    """
    headers = {name: value.rstrip(b" \t") for name, value in fields}
    if len(headers) == len(fields):
        return headers
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {name: b", ".join(those).rstrip(b" \t") for name, those in values.items()}


def demand_message(version: str, headers: Mapping[bytes, bytes]) -> None:
    """Raises what a request is refused with whose host or framing is not that of RFC 9112."""
    host = headers.get(b"host")
    if host is None:
        if version != "1.0":
            raise RequestError("Host", "is missing, which HTTP/1.1 needs")
    elif not _HOST.fullmatch(host):
        raise RequestError("Host", f"needs one host, got {host[:80].decode('latin-1')!r}")
    coding = headers.get(b"transfer-encoding")
    if coding is not None and (coding.lower() != b"chunked" or version == "1.0"):
        raise TransferError


GET: Final = ("GET", "HEAD")
POST: Final = ("POST",)

Handler = Callable[[Exchange], Awaitable[Answer]]


class Route(NamedTuple):
    """A path with names in braces for parts of it, the methods that it takes, and its handler."""

    template: str
    methods: tuple[str, ...]
    handler: Handler


class Table:
    """Routes in the order in which they are tried."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [
            (re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.template)), route)
            for route in routes
        ]
        # Clients ask for few paths over and over, and may make up any number.
        self._found = lru_cache(1024)(self._find)

    def handler(self, path: str, exchange: Exchange) -> Handler:
        """Returns what answers, having noted the route; raises `ServingError` for no route."""
        route, names = self._found(path)
        exchange.path, exchange.names = route.template, names
        if exchange.method not in route.methods:
            raise MethodError(exchange.method, ", ".join(route.methods))
        return route.handler

    def _find(self, path: str) -> tuple[Route, Mapping[str, str]]:
        for pattern, route in self._routes:
            found = pattern.fullmatch(path)
            if found:
                return route, found.groupdict()
        raise UnknownPathError("path: there is nothing here, /v2 tells what this server is")
