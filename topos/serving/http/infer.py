"""Inference: a request read, queued in the session, and its results written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from topos.serving.errors import DrainingError, NotReadyError, RequestError, ServingError
from topos.serving.http.answer import Answer, compressed, wanted_coding
from topos.serving.http.body import Bodies, Body
from topos.serving.http.exchange import POST, Exchange, Route
from topos.serving.http.numbers import datatype, written_numbers
from topos.serving.http.refusals import ClientGoneError, UnknownPathError
from topos.serving.http.request import Inference, read_inference
from topos.serving.session import Session
from topos.serving.status import Outcome

_SECONDS: Final = re.compile(rb"[0-9]{1,20}(\.[0-9]{1,9})?")
_DIGITS: Final = 20
_LENGTH: Final = re.compile(rb"[0-9]+")
_LARGE: Final = 2**17
_PATH: Final = "/v2/models/{model}/infer"
_BINARY: Final = (b"content-type", b"application/octet-stream")


def require_version(name: str, asked: str, has: str) -> None:
    """Raises `UnknownPathError` unless a model has the version asked for, empty for any."""
    if asked not in ("", has):
        raise UnknownPathError(f"version: {name} has version {has}, got {asked[:40]!r}")


class Inferences:
    """Answers inference requests; once `closed`, those that are `under_way` only."""

    def __init__(self, session: Session, bodies: Bodies, rows: int) -> None:
        """`rows` is the most that a request may have."""
        self._session, self._bodies, self._rows = session, bodies, rows
        self.closed = False
        self.under_way = 0

    def routes(self) -> list[Route]:
        """Returns the routes of inferences."""
        paths = (_PATH, "/v2/models/{model}/versions/{version}/infer")
        return [Route(path, POST, self.answer) for path in paths]

    async def answer(self, exchange: Exchange) -> Answer:
        """Returns the results as the client wants them, or raises why there are none."""
        name, version = exchange.names["model"], exchange.names.get("version", "")
        self._require_served(exchange, name, version)
        self.under_way += 1
        taken = False
        try:
            with Body(self._bodies, exchange.headers) as body:
                content = await body.read(exchange.receive, exchange.whole)
                inference = await self._read(exchange.headers, content, name, version)
                exchange.rows = inference.rows
                deadline = self._deadline(exchange.headers, inference)
                taken = True
                # The session takes the request up before anything else can run.
                outcome = await self._session.outcome_async(
                    name, inference.inputs, deadline=deadline
                )
            require_version(name, version, outcome.version)
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

    def _require_served(self, exchange: Exchange, name: str, version: str) -> None:
        """Raises `ServingError` where nothing of the model is served to this exchange."""
        exchange.path = _PATH
        try:
            has = self._session.served(name).version
        except NotReadyError:
            exchange.model = name
            raise
        exchange.model = name
        require_version(name, version, has)
        if self.closed:
            raise DrainingError("the server takes no more requests, it is about to end")

    def _count_refused(self, name: str, error: ServingError) -> None:
        gone = isinstance(error, ClientGoneError)
        self._session.refused(name, "cancelled" if gone else type(error).__name__)

    async def _read(
        self, headers: Mapping[bytes, bytes], content: bytes | bytearray, name: str, version: str
    ) -> Inference:
        """Returns the request as the model that serves now takes it."""
        length, limit = _json_length(headers), self._bodies.limits.json_bytes
        size = len(content) if length is None else length
        while True:
            model = self._session.served(name)
            require_version(name, version, model.version)
            if size <= _LARGE:
                return read_inference(content, length, model, limit, self._rows)
            inference = await asyncio.to_thread(
                read_inference, content, length, model, limit, self._rows
            )
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


Array = npt.NDArray[Any]

_ENCODER: Final = msgspec.json.Encoder()
# To copy so few bytes takes less than to look at them in place.
_SMALL: Final = 2**14


def write_response(
    results: Mapping[str, Array], inference: Inference, name: str, version: str
) -> tuple[bytes, int | None]:
    """Returns the answer of a version of the model `name` as a body.

    With it comes how many bytes of JSON it starts with, where binary data follow.

    The outputs are those that were asked for, in the order in which they were.
    """
    outputs: list[dict[str, object]] = []
    binary: list[bytes | memoryview] = []
    for label, raw in inference.outputs.items():
        array = results[label]
        output: dict[str, object] = {
            "name": label,
            "datatype": datatype(array.dtype),
            "shape": array.shape,
        }
        if raw:
            output["parameters"] = {"binary_data_size": array.nbytes}
            binary.append(_octets(array))
        else:
            output["data"] = written_numbers(array)
        outputs.append(output)
    answer: dict[str, object] = {"model_name": name, "model_version": version}
    if inference.id:
        answer["id"] = inference.id
    answer["outputs"] = outputs
    text = _ENCODER.encode(answer)
    if not binary:
        return text, None
    return b"".join([text, *binary]), len(text)


def _octets(array: Array) -> bytes | memoryview:
    """Returns the elements in row-major order."""
    if array.nbytes <= _SMALL:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
