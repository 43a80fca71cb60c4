"""What a session raises, or changes while a request is on its way, and what is answered to it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_http import (
    INFER,
    ROWS,
    infer,
)
from topos.serving import (
    BusyError,
    Counters,
    DeadlineError,
    DrainingError,
    ModelPort,
    ModelStatus,
    NotReadyError,
    WorkerError,
)
from topos.serving.http import Application, Observers
from topos.serving.status import Outcome


class FailingSession:
    """A session whose only model answers every request with one error."""

    def __init__(self, error: Exception) -> None:
        self.error, self.totals = error, Counters()

    def counters(self, name: str) -> Counters:
        return self.totals

    def model(self, name: str) -> ModelStatus:
        port = ModelPort("x", (6,), np.dtype(np.float32))
        return ModelStatus(name, "1", True, "", True, (1,), (port,), (port,), "interpreter", 0)

    def served(self, name: str) -> ModelStatus:
        return self.model(name)

    def refused(self, name: str, outcome: str) -> None:
        self.totals.outcomes[outcome] = self.totals.outcomes.get(outcome, 0) + 1

    def models(self) -> tuple[ModelStatus, ...]:
        return (self.model("mlp"),)

    async def outcome_async(self, *_: object, deadline: float | None) -> Outcome:
        raise self.error


def failed(error: Exception) -> tuple[int, dict[bytes, bytes], dict[str, Any]]:
    """What an application answers where its session raises `error`."""
    session: Any = FailingSession(error)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": infer(ROWS)}

    return called(Application(session, Observers()), INFER, receive)


def called(
    application: Application, path: str, receive: Any, method: str = "POST"
) -> tuple[int, dict[bytes, bytes], dict[str, Any]]:
    """Status, headers and JSON of an answer, without a connection."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "http_version": "1.0", "method": method, "path": path, "headers": []}
    asyncio.run(application(scope, receive, send))
    assert application.in_flight == application.inferences.under_way == 0
    start, body = sent
    return start["status"], dict(start["headers"]), json.loads(body["body"])


def test_a_full_queue_is_told_with_when_to_come_again() -> None:
    status, headers, answer = failed(BusyError("mlp", 2.2))
    assert (status, headers[b"retry-after"]) == (429, b"3")
    assert answer == {"error": "the queue of mlp is full, retry in 2.2 seconds"}
    assert failed(BusyError("mlp", 0.01))[1][b"retry-after"] == b"1"


def test_who_comes_while_the_server_drains_is_sent_elsewhere() -> None:
    status, headers, _ = failed(DrainingError("it ends"))
    assert (status, headers[b"retry-after"], headers[b"connection"]) == (503, b"1", b"close")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeadlineError("mlp", 1.0), 504),
        (DrainingError("it ends"), 503),
        (NotReadyError("mlp", "it compiles"), 503),
        (WorkerError("it crashed"), 500),
    ],
)
def test_what_the_session_raises_has_its_status(error: Exception, status: int) -> None:
    found, _, answer = failed(error)
    assert (found, answer) == (status, {"error": str(error)})


def test_a_fault_of_ours_tells_the_identifier_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    status, headers, answer = failed(KeyError("a secret"))
    assert status == 500
    identifier = headers[b"x-request-id"].decode()
    assert answer == {"error": f"the server failed on request {identifier}"}
    assert identifier in caplog.text
    assert "a secret" in caplog.text


class ReloadedSession(FailingSession):
    """A session that swaps its version while a body is on its way; it answers with zeros."""

    def __init__(self) -> None:
        super().__init__(AssertionError())
        self.version = "1"

    def model(self, name: str) -> ModelStatus:
        return dataclasses.replace(super().model(name), version=self.version)

    async def outcome_async(self, *_: object, deadline: float | None) -> Outcome:
        version, self.version = self.version, "3"
        return Outcome({"x": np.full((2, 6), float(version))}, version)


class RestartedSession(ReloadedSession):
    """A session whose worker is followed by one of another version under a request."""

    async def outcome_async(self, *_: object, deadline: float | None) -> Outcome:
        return Outcome({"x": np.full((2, 6), 2.0)}, "2")


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        (INFER, 200, {"model_version": "2"}),
        (
            "/v2/models/mlp/versions/1/infer",
            404,
            {"error": "version: mlp has version 2, got '1'"},
        ),
    ],
)
def test_the_version_that_computed_an_answer_is_told_or_was_not_asked(
    path: str, status: int, told: dict[str, str]
) -> None:
    session: Any = RestartedSession()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": infer(ROWS)}

    found, _, answer = called(Application(session, Observers()), path, receive)
    assert (found, {name: answer[name] for name in told}) == (status, told)


@pytest.mark.parametrize(("size", "version"), [(0, "2"), (2**18, "3")])
def test_the_version_that_answers_is_the_one_that_is_told(size: int, version: str) -> None:
    session: Any = ReloadedSession()
    body = infer(ROWS, padding="x" * size)

    async def receive() -> dict[str, Any]:
        session.version = "2"
        # A large body is read on a thread, and the loop goes on meanwhile.
        asyncio.get_running_loop().call_soon(setattr, session, "version", "3")
        return {"type": "http.request", "body": body}

    status, _, answer = called(Application(session, Observers()), INFER, receive)
    assert status == 200
    assert answer["model_version"] == version
    assert set(answer["outputs"][0]["data"]) == {float(version)}


def test_a_version_that_is_gone_by_the_end_of_the_body_is_unknown() -> None:
    session: Any = ReloadedSession()

    async def receive() -> dict[str, Any]:
        session.version = "2"
        return {"type": "http.request", "body": infer(ROWS)}

    path = "/v2/models/mlp/versions/1/infer"
    status, _, answer = called(Application(session, Observers()), path, receive)
    assert (status, answer) == (404, {"error": "version: mlp has version 2, got '1'"})


def test_a_model_called_infer_has_metadata() -> None:
    session: Any = FailingSession(AssertionError())
    status, _, answer = called(Application(session, Observers()), "/v2/models/infer", None, "GET")
    assert (status, answer["name"]) == (200, "infer")
