"""The application: each request identified, admitted, answered, counted and logged."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from topos.errors import ArgumentError
from topos.serving.counters import Observer
from topos.serving.errors import DrainingError, ServingError
from topos.serving.http import page
from topos.serving.http.access_log import AccessLog
from topos.serving.http.answer import Answer, json_answer, refusal
from topos.serving.http.body import Bodies
from topos.serving.http.examples import Examples
from topos.serving.http.exchange import (
    Exchange,
    Receive,
    Scope,
    Send,
    Table,
    demand_message,
    identifiers,
    joined,
)
from topos.serving.http.infer import Inferences
from topos.serving.http.limits import Limits
from topos.serving.http.metrics import Metrics
from topos.serving.http.refusals import ClientGoneError
from topos.serving.http.routes import OPEN_PATHS, Routes
from topos.serving.http.timeline import Timeline
from topos.serving.http.token import Token
from topos.serving.session import Session

_LOGGER = logging.getLogger("topos.serving")
_OPEN = OPEN_PATHS | page.OPEN_PATHS
# A copy of a larger body would take longer than the kernel's second call.
_JOINED: Final = 2**16
# What may stand in a log and in a header as it is; anything else is replaced, not escaped.
_SANE: Final = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_NOTHING: Final[dict[str, Any]] = {}


class Observers:
    """What has to observe the session of an application from its start."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.timeline = Timeline()

    def __iter__(self) -> Iterator[Observer]:
        return iter((self.metrics, self.timeline))


class Application:
    """An ASGI application that serves a session; it neither opens nor closes the session."""

    def __init__(
        self,
        session: Session,
        observers: Observers,
        *,
        paths: Iterable[Path] = (),
        limits: Limits | None = None,
        token: Token | None = None,
        log: BinaryIO | None = None,
        rows: int = 4096,
    ) -> None:
        """`observers` observe `session`, `paths` are its bundles, `rows` the most of a request."""
        self.session, self.metrics = session, observers.metrics
        self.limits = limits or Limits()
        self.draining = False
        self.in_flight = 0
        self.log = AccessLog(log)
        self._token = token or Token(None)
        self.bodies = Bodies(self.limits)
        self.inferences = Inferences(session, self.bodies, rows)
        self._identifiers = identifiers()
        routes = Routes(
            session,
            self.bodies,
            self._token,
            self.metrics,
            self.totals,
            lambda: self.draining,
            rows,
        )
        self._table = Table(
            [
                *self.inferences.routes(),
                *routes.routes(),
                *page.page_routes(session, observers.timeline, Examples(paths)),
            ]
        )

    def totals(self) -> dict[str, tuple[str, float]]:
        """Returns gauges of the server as a whole, by name the meaning and the value."""
        return {
            "topos_in_flight": ("Requests under way.", float(self.in_flight)),
            "topos_body_bytes": ("Bytes of bodies held.", float(self.bodies.held)),
            "topos_log_lines_lost": ("Lines that the log did not take.", float(self.log.lost)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, whatever happens."""
        if scope["type"] != "http":
            raise ArgumentError(f"this application needs http, got {scope['type']}")
        start = time.perf_counter()
        headers = joined(scope["headers"])
        sent = headers.get(b"x-request-id")
        identifier = sent if sent and _SANE.fullmatch(sent) else next(self._identifiers)
        connection = scope.get("state", _NOTHING).get("connection")
        exchange = Exchange(
            scope["method"],
            identifier,
            headers,
            receive,
            scope.get("query_string", b""),
            connection is not None and connection.whole,
        )
        self.in_flight += 1
        try:
            answer = await self._answered(scope, exchange, connection)
            await self._send(send, answer, identifier, connection)
        finally:
            self.in_flight -= 1
            if connection is not None:
                connection.answered()
        # The answer is on its way by now.
        self._record(exchange, answer.status, len(answer.body), time.perf_counter() - start)

    def refused(self, status: int, size: int) -> bytes:
        """Counts and logs a request that was refused unread, and returns its identifier."""
        exchange = Exchange("", next(self._identifiers), {})
        self._record(exchange, status, size, 0.0)
        return exchange.identifier

    def _record(self, exchange: Exchange, status: int, size: int, seconds: float) -> None:
        self.metrics.record(exchange, status, seconds)
        self.log.record(exchange, status, size, seconds)

    async def _answered(self, scope: Scope, exchange: Exchange, connection: Any) -> Answer:
        """Returns the answer to a request, or why there is none."""
        try:
            demand_message(scope["http_version"], exchange.headers)
            # A path with a slash behind it is the same one: to redirect a client would need its
            # scheme, and the prefix of a proxy.
            path = scope["path"].removesuffix("/") or "/"
            if path not in _OPEN:
                self._token.admit(exchange.headers)
            return await self._table.handler(path, exchange)(exchange)
        except asyncio.CancelledError:
            # uvicorn cancels what is left when its time is over, and has nothing to say to it.
            return refusal(DrainingError("the server ended before it had an answer"))
        except ServingError as error:
            # Its frames hold the body, and a future of theirs holds the error: a circle that
            # stays until the next search for garbage.
            error.__traceback__ = None
            return refusal(error)
        except Exception as error:
            if _is_gone(error, connection):
                return refusal(ClientGoneError())
            name = exchange.identifier.decode()
            _LOGGER.error("request %s failed", name, exc_info=error)
            return json_answer({"error": f"the server failed on request {name}"}, 500)

    async def _send(self, send: Send, answer: Answer, identifier: bytes, connection: Any) -> None:
        headers = [*answer.headers, (b"x-request-id", identifier)]
        if answer.status != 304:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        if connection is not None and len(answer.body) <= _JOINED:
            connection.cork()
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer.body})
        except Exception as error:
            if not _is_gone(error, connection):
                raise


def _is_gone(error: Exception, connection: Any) -> bool:
    """Returns whether uvloop raised `error` for a client that uvicorn takes to be there."""
    return isinstance(error, RuntimeError) and connection is not None and connection.closing
