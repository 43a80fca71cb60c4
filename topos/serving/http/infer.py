"""Inference: the one path that has to be quick, from the headers to the answer."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from starlette.types import Receive

from topos.serving.errors import DrainingError, NotReadyError, RequestError, ServingError
from topos.serving.http.answer import Answer, compressed, wanted_coding
from topos.serving.http.body import Bodies, Body
from topos.serving.http.exchange import Exchange
from topos.serving.http.refusals import ClientGoneError, MethodError, UnknownPathError
from topos.serving.http.request import Inference, read_inference
from topos.serving.http.response import write_response
from topos.serving.outcome import Outcome
from topos.serving.session import Session
from topos.serving.status import ModelStatus

__all__ = ["Inferences", "Waiting", "model_of", "served"]

_SECONDS: Final = re.compile(rb"[0-9]{1,20}(\.[0-9]{1,9})?")
_DIGITS: Final = 20
_LENGTH: Final = re.compile(rb"[0-9]+")
_LARGE: Final = 2**17
_BINARY: Final = (b"content-type", b"application/octet-stream")


@lru_cache(1024)
def model_of(path: str) -> tuple[str, str] | None:
    """Returns the model, and the version or nothing, whose inference a path is."""
    if not (path.startswith("/v2/models/") and path.endswith("/infer")):
        return None
    match path[11:-6].split("/"):
        case [name] if name:
            return name, ""
        case [name, "versions", version] if name and version:
            return name, version
    return None


def served(session: Session, name: str, version: str) -> ModelStatus:
    """Returns a model of the session; `version` may be empty, which is the one that serves."""
    model = session.served(name)
    _require_version(name, version, model.version)
    return model


def _require_version(name: str, asked: str, has: str) -> None:
    if asked not in ("", has):
        raise UnknownPathError(f"version: {name} has version {has}, got {asked[:40]!r}")


class Waiting(NamedTuple):
    """A request in the session's queue; `answer` returns or raises once `future` is done."""

    future: asyncio.Future[list[Any]]
    answer: Callable[[], Answer]


class Inferences:
    """Answers inference requests; once `closed`, those that are `under_way` only."""

    def __init__(self, session: Session, bodies: Bodies, rows: int) -> None:
        """`rows` is the most that a request may have."""
        self._session, self._bodies, self._rows = session, bodies, rows
        self.closed = False
        self.under_way = 0
        # By model: of a version, the bytes of one row of all results.
        self._row_bytes: dict[str, tuple[str, int]] = {}

    async def answer(self, exchange: Exchange, receive: Receive, name: str, version: str) -> Answer:
        """Returns the results as the client wants them, or raises why there are none."""
        self._require_served(exchange, name, version)
        self.under_way += 1
        taken = False
        try:
            with Body(self._bodies, exchange.headers) as body:
                content = await body.read(receive, exchange.whole)
                inference = await self._read(exchange.headers, content, name, version)
                exchange.rows = inference.rows
                deadline = self._deadline(exchange.headers, inference)
                taken = True
                # The session takes the request up before anything else can run.
                outcome = await self._session.outcome_async(
                    name, inference.inputs, deadline=deadline
                )
            _require_version(name, version, outcome.version)
            coding = wanted_coding(exchange.headers)
            if _is_quick(outcome, inference, coding):
                return _written(outcome, inference, name, coding)
            return await asyncio.to_thread(_written, outcome, inference, name, coding)
        except ServingError as error:
            # What the session took it counts itself.
            if not taken:
                self._count_refused(name, error)
            raise
        finally:
            self.under_way -= 1

    def enter(
        self,
        loop: asyncio.AbstractEventLoop,
        exchange: Exchange,
        content: bytes,
        name: str,
        version: str,
    ) -> Waiting | None:
        """Takes up a request whose whole body is `content`; raises as `answer` does.

        Returns None, with nothing done, where more than a moment may be needed, to read it or to
        write its answer, or where the session runs on another loop than `loop`.
        """
        if not self._is_plain(exchange.headers, len(content)):
            return None
        model = self._require_served(exchange, name, version)
        try:
            length, limit = _json_length(exchange.headers), self._bodies.limits.json_bytes
            inference = read_inference(content, length, model, limit, self._rows)
            exchange.rows = inference.rows
            deadline = self._deadline(exchange.headers, inference)
        except ServingError as error:
            self._count_refused(name, error)
            raise
        if inference.rows * self._bytes_of_row(model) > _LARGE:
            return None
        pending = self._session.enter(loop, name, inference.inputs, deadline=deadline)
        if pending is None:
            return None
        self.under_way += 1
        self._bodies.held += len(content)

        def answer() -> Answer:
            self.under_way -= 1
            self._bodies.held -= len(content)
            outcome = pending.outcome()
            _require_version(name, version, outcome.version)
            return _written(outcome, inference, name, None)

        return Waiting(pending.future, answer)

    def _is_plain(self, headers: Mapping[bytes, bytes], size: int) -> bool:
        """Returns whether a body of that size is small, and neither it nor its answer coded."""
        limits = self._bodies.limits
        return (
            size <= min(_LARGE, limits.body_bytes, limits.buffered_bytes - self._bodies.held)
            and headers.get(b"content-length") == b"%d" % size
            and b"content-encoding" not in headers
            and wanted_coding(headers) is None
        )

    def _require_served(self, exchange: Exchange, name: str, version: str) -> ModelStatus:
        """Returns the model, unless nothing of it is served to this exchange."""
        exchange.path = "/v2/models/{model}/infer"
        model = served(self._session, name, version)
        exchange.model = model.name
        if not model.version:
            raise NotReadyError(model.name, model.reason)
        if exchange.method != "POST":
            raise MethodError(exchange.method, "POST")
        if self.closed:
            raise DrainingError("the server takes no more requests, it is about to end")
        return model

    def _count_refused(self, name: str, error: ServingError) -> None:
        gone = isinstance(error, ClientGoneError)
        self._session.refused(name, "cancelled" if gone else type(error).__name__)

    def _bytes_of_row(self, model: ModelStatus) -> int:
        """Returns the bytes of all results of one row, or of a call where there are no rows."""
        version, size = self._row_bytes.get(model.name, ("", 0))
        if version != model.version:
            size = sum(math.prod(port.shape) * port.dtype.itemsize for port in model.results)
            self._row_bytes[model.name] = model.version, size
        return size

    async def _read(
        self, headers: Mapping[bytes, bytes], content: bytes | bytearray, name: str, version: str
    ) -> Inference:
        """Returns the request as the model that serves now takes it."""
        length, limit = _json_length(headers), self._bodies.limits.json_bytes
        rows = self._rows
        size = len(content) if length is None else length
        while True:
            model = served(self._session, name, version)
            if size <= _LARGE:
                return read_inference(content, length, model, limit, rows)
            inference = await asyncio.to_thread(read_inference, content, length, model, limit, rows)
            # A reload may have come meanwhile.
            if self._session.served(name).version == model.version:
                return inference

    def _deadline(self, headers: Mapping[bytes, bytes], inference: Inference) -> float | None:
        most = self._bodies.limits.deadline
        asked = _seconds(headers)
        if asked is not None and asked > most:
            raise RequestError("X-Request-Timeout", f"needs {most:g} seconds at most")
        deadline = asked or inference.deadline
        return None if deadline is None else min(deadline, most)


def _is_quick(outcome: Outcome, inference: Inference, coding: bytes | None) -> bool:
    """Returns whether an answer is written in so little time that others may wait for it."""
    outputs = inference.outputs.items()
    size = sum(outcome.results[name].nbytes for name, raw in outputs if coding or not raw)
    return size <= (_LARGE if coding is None else _LARGE // 4)


def _written(outcome: Outcome, inference: Inference, name: str, coding: bytes | None) -> Answer:
    text, length = write_response(outcome.results, inference, name, outcome.version)
    answer = Answer(200, text)
    if length is not None:
        answer.headers = [_BINARY, (b"inference-header-content-length", b"%d" % length)]
    return answer if coding is None else compressed(answer, coding)


def _json_length(headers: Mapping[bytes, bytes]) -> int | None:
    text = headers.get(b"inference-header-content-length")
    if text is None:
        return None
    if not _LENGTH.fullmatch(text):
        reason = f"needs a number of bytes, got {text[:80].decode('latin-1')!r}"
        raise RequestError("Inference-Header-Content-Length", reason)
    digits = text.lstrip(b"0")
    # Python reads no number of thousands of digits.
    if len(digits) > _DIGITS:
        reason = f"has {len(digits)} digits, more than the length of any body"
        raise RequestError("Inference-Header-Content-Length", reason)
    return int(digits or b"0")


def _seconds(headers: Mapping[bytes, bytes]) -> float | None:
    text = headers.get(b"x-request-timeout")
    if text is None:
        return None
    if not _SECONDS.fullmatch(text) or not float(text):
        raise RequestError("X-Request-Timeout", "needs seconds above zero, as 0.25")
    return float(text)
