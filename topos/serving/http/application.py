"""The application: each request identified, admitted, answered, counted and logged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from topos.serving.afterwards import Afterwards
from topos.serving.counters import Observer
from topos.serving.errors import DrainingError, ServingError
from topos.serving.http import page
from topos.serving.http.access_log import AccessLog
from topos.serving.http.answer import Answer, json_answer, refusal
from topos.serving.http.body import Bodies
from topos.serving.http.examples import Examples
from topos.serving.http.exchange import Exchange, demand_message, identifiers, joined, sane
from topos.serving.http.infer import Inferences, model_of
from topos.serving.http.limits import Limits
from topos.serving.http.metrics import Metrics, Standing
from topos.serving.http.refusals import MethodError, UnknownPathError
from topos.serving.http.replying import Headers, Reply
from topos.serving.http.routes import OPEN_PATHS, Routes
from topos.serving.http.timeline import Timeline
from topos.serving.http.token import Token
from topos.serving.session import Session

__all__ = ["Application", "Observers"]

_LOGGER = logging.getLogger("topos.serving")
_OPEN = OPEN_PATHS | page.OPEN_PATHS


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
        self.limits = limits or Limits()
        self.draining = False
        self.in_flight = 0
        self.log = AccessLog(log)
        self._token = token or Token(None)
        self._metrics = observers.metrics
        self._afterwards = Afterwards()
        self.bodies = Bodies(self.limits)
        self.inferences = Inferences(session, self.bodies, rows)
        self._identifiers = identifiers()
        routes = Routes(
            session, self.bodies, self._token, self._metrics, lambda: self.draining, rows
        )
        everything = [
            *routes.routes(),
            *page.page_routes(session, observers.timeline, Examples(paths)),
        ]
        self._templates: dict[Any, str] = {route.endpoint: route.path for route in everything}
        self._router = Router(everything, redirect_slashes=False)
        self._metrics.registry.register(Standing(session.models, self._totals))

    def _totals(self) -> dict[str, tuple[str, float]]:
        return {
            "topos_in_flight": ("Requests under way.", float(self.in_flight)),
            "topos_body_bytes": ("Bytes of bodies held.", float(self.bodies.held)),
            "topos_log_lines_lost": ("Lines that the log did not take.", float(self.log.lost)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, whatever happens."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        start = time.perf_counter()
        exchange = self._exchange(scope["method"], scope["headers"], "topos.whole" in scope)
        self.in_flight += 1
        try:
            status, size = await self._answered(scope, receive, send, exchange)
        finally:
            self.in_flight -= 1
        self._record_soon(exchange, start, status, size)

    def take(
        self,
        loop: asyncio.AbstractEventLoop,
        path: str,
        headers: Headers,
        body: bytes,
        reply: Reply,
    ) -> bool:
        """Takes up an inference that was posted to `path` and arrived whole, if it is a small one.

        It came in HTTP/1.1. Returns whether it did; then it replies in a later turn of `loop`,
        which runs the caller. A task, a scope and the messages of ASGI would take as long as all
        else on its way.
        """
        asked = model_of(path)
        if asked is None:
            return False
        start = time.perf_counter()
        exchange = self._exchange("POST", headers, True)
        try:
            demand_message("1.1", exchange.headers)
            self._token.admit(exchange.headers)
            waiting = self.inferences.enter(loop, exchange, body, *asked)
        except Exception as error:
            answer = self._refusal(error, exchange)
            loop.call_soon(self._reply, reply, exchange, start, lambda: answer)
        else:
            if waiting is None:
                return False
            waiting.future.add_done_callback(
                lambda _: self._reply(reply, exchange, start, waiting.answer)
            )
        self.in_flight += 1
        return True

    def _reply(
        self, reply: Reply, exchange: Exchange, start: float, answer: Callable[[], Answer]
    ) -> None:
        """Replies with an answer, or with why there is none."""
        try:
            found = answer()
        except Exception as error:
            found = self._refusal(error, exchange)
        try:
            reply(found.status, _headers(found, exchange.identifier), found.body)
        finally:
            self.in_flight -= 1
        self._record_soon(exchange, start, found.status, len(found.body))

    def _exchange(self, method: str, fields: Headers, whole: bool) -> Exchange:
        headers = joined(fields)
        sent = headers.get(b"x-request-id")
        identifier = sent if sent and sane(sent) else next(self._identifiers)
        return Exchange(method, identifier, headers, whole)

    def _record_soon(self, exchange: Exchange, start: float, status: int, size: int) -> None:
        seconds = time.perf_counter() - start
        self._afterwards.add(self._record, exchange, status, size, seconds)

    def _record(self, exchange: Exchange, status: int, size: int, seconds: float) -> None:
        self._metrics.record(exchange, status, seconds)
        self.log.record(exchange, status, size, seconds)

    def refused(self, status: int, size: int) -> bytes:
        """Counts and logs a request that was refused unread, and returns its identifier."""
        exchange = Exchange("", next(self._identifiers), {})
        self._metrics.record(exchange, status, 0.0)
        self.log.record(exchange, status, size, 0.0)
        return exchange.identifier

    async def _answered(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> tuple[int, int]:
        """Sends the answer, and returns its status and the size of its body."""
        reply = _Reply(send, exchange.identifier, scope.get("topos.reply"))
        try:
            answer = await self._answer(scope, receive, reply, exchange)
        except asyncio.CancelledError:
            # uvicorn cancels what is left when its time is over, and has nothing to say to it.
            answer = refusal(DrainingError("the server ended before it had an answer"))
        except Exception as error:
            answer = self._refusal(error, exchange)
        if answer is not None and not reply.status:
            await reply.send_answer(answer)
        return reply.status, reply.size

    def _refusal(self, error: Exception, exchange: Exchange) -> Answer:
        """Returns the answer to a request that failed with `error`, and logs what is our fault."""
        if isinstance(error, ServingError):
            # Its frames hold the body, and a future of theirs holds the error: a circle that
            # stays until the next search for garbage.
            error.__traceback__ = None
            return refusal(error)
        if isinstance(error, HTTPException):
            return refusal(_as_ours(error, exchange))
        identifier = exchange.identifier.decode()
        _LOGGER.error("request %s failed", identifier, exc_info=error)
        return json_answer({"error": f"the server failed on request {identifier}"}, 500)

    async def _answer(
        self, scope: Scope, receive: Receive, reply: _Reply, exchange: Exchange
    ) -> Answer | None:
        """Returns the answer, or None where a route has sent it."""
        demand_message(scope["http_version"], exchange.headers)
        # A path with a slash behind it is the same one: to redirect a client would need its scheme,
        # and the prefix of a proxy.
        path = scope["path"].removesuffix("/") or "/"
        if path not in _OPEN:
            self._token.admit(exchange.headers)
        asked = model_of(path)
        if asked is not None:
            return await self.inferences.answer(exchange, receive, *asked)
        # With this, the router raises what it does not know instead of answering in plain text.
        scope.update({"app": self, "path": path, "topos.exchange": exchange})
        try:
            await self._router(scope, receive, reply)
        finally:
            exchange.path = self._templates.get(scope.get("endpoint"), exchange.path)
        return None


class _Reply:
    """The sending half of a request, with its identifier among the headers."""

    def __init__(self, send: Send, identifier: bytes, at_once: Reply | None) -> None:
        self._send, self._identifier, self._at_once = send, identifier, at_once
        self.status, self.size = 0, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self._identifier)]
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    async def send_answer(self, answer: Answer) -> None:
        """Sends an answer whole."""
        self.status, self.size = answer.status, len(answer.body)
        headers = _headers(answer, self._identifier)
        if self._at_once is not None and self._at_once(answer.status, headers, answer.body):
            return
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": answer.body})


def _headers(answer: Answer, identifier: bytes) -> list[tuple[bytes, bytes]]:
    length = (b"content-length", b"%d" % len(answer.body))
    return [*answer.headers, length, (b"x-request-id", identifier)]


def _as_ours(error: HTTPException, exchange: Exchange) -> ServingError:
    if error.status_code == 405:
        allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
        return MethodError(exchange.method, ", ".join(allowed))
    return UnknownPathError("path: there is nothing here, /v2 tells what this server is")
