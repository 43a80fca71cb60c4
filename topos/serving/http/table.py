"""The table of routes: which handler a path and a method lead to."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from topos.serving.http.answer import Answer
from topos.serving.http.exchange import Exchange
from topos.serving.http.refusals import MethodError, UnknownPathError

__all__ = ["GET", "POST", "Handler", "Route", "Table"]

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
