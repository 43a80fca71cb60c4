"""Inference: the one path that has to be quick, from the headers to the answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

import numpy.typing as npt
from starlette.types import Receive

from topos.serving.errors import DrainingError, NotReadyError, RequestError
from topos.serving.http.answer import Answer, compressed
from topos.serving.http.body import Bodies, Body
from topos.serving.http.exchange import Exchange
from topos.serving.http.refusals import MethodError, UnknownPathError
from topos.serving.http.request import Inference, read_inference
from topos.serving.http.response import write_response
from topos.serving.session import Session
from topos.serving.status import ModelStatus

__all__ = ["Inferences", "model_of", "served"]

Array = npt.NDArray[Any]
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_SECONDS: Final = re.compile(rb"[0-9]{1,6}(\.[0-9]{1,9})?")
_LENGTH: Final = re.compile(rb"[0-9]{1,12}")
_LARGE: Final = 2**17
_BINARY: Final = (b"content-type", b"application/octet-stream")


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
    model = session.model(name)
    if version not in ("", model.version):
        known = f"{name} has version {model.version}"
        raise UnknownPathError(f"version: {known}, got {version[:40]!r}")
    return model


class Inferences:
    """Answers inference requests; once `closed`, those that are `under_way` only."""

    def __init__(self, session: Session, bodies: Bodies) -> None:
        self._session, self._bodies = session, bodies
        self.closed = False
        self.under_way = 0

    async def answer(self, exchange: Exchange, receive: Receive, name: str, version: str) -> Answer:
        """Returns the results as the client wants them, or raises why there are none."""
        exchange.path = "/v2/models/{model}/infer"
        model = served(self._session, name, version)
        exchange.model = model.name
        if not model.version:
            raise NotReadyError(model.name, model.reason)
        if exchange.method != "POST":
            raise MethodError(exchange.method, "POST")
        if self.closed:
            raise DrainingError("the server takes no more requests, it is about to end")
        self.under_way += 1
        try:
            return await self._infer(exchange, receive, name, version)
        finally:
            self.under_way -= 1

    async def _infer(self, exchange: Exchange, receive: Receive, name: str, version: str) -> Answer:
        headers = exchange.headers
        with Body(self._bodies, headers) as body:
            content = await body.read(receive, exchange.whole)
            model, inference, results = await self._answered(exchange, content, name, version)
        size = sum(results[name].nbytes for name, raw in inference.outputs.items() if not raw)
        text, length = await _aside(size, write_response, results, inference, model)
        answer = Answer(200, text)
        if length is not None:
            answer.headers = [_BINARY, (b"inference-header-content-length", b"%d" % length)]
        accepted = headers.get(b"accept-encoding")
        return await _aside(len(text), compressed, answer, accepted) if accepted else answer

    async def _answered(
        self, exchange: Exchange, content: bytes | bytearray, name: str, version: str
    ) -> tuple[ModelStatus, Inference, dict[str, Array]]:
        """Returns the model as it stood, the request, and its results of just that version.

        A worker that ends is followed by one that loads what stands in the folder then, another
        version perhaps, and answers what waits: such a request is run again, to know by which.
        """
        counters = self._session.counters(name)
        while True:
            model, inference = await self._read(exchange.headers, content, name, version)
            exchange.rows, restarts = inference.rows, counters.restarts
            deadline = _deadline(exchange.headers) or inference.deadline
            if deadline is not None:
                deadline = min(deadline, self._bodies.limits.deadline)
            # The session takes the request up before anything else can run.
            results = await self._session.infer_async(name, inference.inputs, deadline=deadline)
            same_worker = model.ready and counters.restarts == restarts
            if same_worker or self._session.model(name).version == model.version:
                return model, inference, results

    async def _read(
        self, headers: Mapping[bytes, bytes], content: bytes | bytearray, name: str, version: str
    ) -> tuple[ModelStatus, Inference]:
        """Returns the request, and the model that serves now: a reload may come at any await."""
        length, limit = _json_length(headers), self._bodies.limits.json_bytes
        size = len(content) if length is None else length
        while True:
            model = served(self._session, name, version)
            inference = await _aside(size, read_inference, content, length, model, limit)
            if size <= _LARGE or self._session.model(name).version == model.version:
                return model, inference


async def _aside(
    size: int, function: Callable[[Unpack[Arguments]], Result], *arguments: *Arguments
) -> Result:
    """Returns what `function` returns, on a thread where so many bytes would hold others up."""
    if size <= _LARGE:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


def _json_length(headers: Mapping[bytes, bytes]) -> int | None:
    text = headers.get(b"inference-header-content-length")
    if text is None:
        return None
    if not _LENGTH.fullmatch(text):
        reason = "needs a number of bytes"
        raise RequestError("Inference-Header-Content-Length", reason)
    return int(text)


def _deadline(headers: Mapping[bytes, bytes]) -> float | None:
    text = headers.get(b"x-request-timeout")
    if text is None:
        return None
    if not _SECONDS.fullmatch(text) or not float(text):
        raise RequestError("X-Request-Timeout", "needs seconds above zero, as 0.25")
    return float(text)
