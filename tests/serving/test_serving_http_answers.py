"""Answers: statuses, headers, metrics and the log of whatever a client may ask for."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import json
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp, exported_total, truth
from tests.serving.serving_http import (
    SECONDS,
    Reply,
    Server,
    binary,
    exchanged,
    infer,
    request,
    running,
)
from topos.errors import ArgumentError
from topos.serving import (
    BusyError,
    DeadlineError,
    DrainingError,
    ModelPort,
    ModelStatus,
    NotReadyError,
    Settings,
    WorkerError,
)
from topos.serving.http import Application, Observers, Token
from topos.serving.http.access_log import AccessLog
from topos.serving.http.exchange import Exchange

ROWS = np.ones((2, 6), np.float32)
INFER = "/v2/models/mlp/infer"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("answers")
    exported_mlp(folder / "mlp", rows=(1, 2))
    exported_total(folder / "total")
    return [folder / "mlp", folder / "total"]


@pytest.fixture(scope="module")
def server(bundles: list[Path]) -> Iterator[Server]:
    with running(bundles, settings=Settings(max_rows=64)) as server:
        yield server


def ask(server: Server, path: str, body: bytes | None = None, **headers: str) -> Reply:
    method = "GET" if body is None else "POST"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return exchanged(server.port, request(method, path, body or b"", named))


def lines(server: Server, count: int) -> list[dict[str, Any]]:
    """The last lines of the access log, once there are that many with this server."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = server.log.getvalue().splitlines()
        if len(found) >= count:
            return [json.loads(line) for line in found]
        time.sleep(0.05)
    raise AssertionError("the log lacks lines")


def test_a_json_answer_has_the_results_in_the_fewest_digits(server: Server) -> None:
    rows = np.full((1, 6), 0.1, np.float32)
    found = json.loads(ask(server, INFER, infer(rows, id="a\u00fc")).body)
    (output,) = found["outputs"]
    assert found["id"] == "a\u00fc"
    assert output["shape"] == [1, 3]
    assert np.array(output["data"], np.float32).tobytes() == truth(rows).tobytes()
    assert all(len(repr(value)) < 12 for value in output["data"])


def test_a_binary_answer_tells_where_its_data_start(server: Server) -> None:
    body, headers = binary(ROWS)
    answer = exchanged(server.port, request("POST", INFER, body, headers))
    start = int(answer.headers["inference-header-content-length"])
    (output,) = json.loads(answer.body[:start])["outputs"]
    assert output["parameters"] == {"binary_data_size": 24}
    assert answer.body[start:] == truth(ROWS).tobytes()
    assert answer.headers["content-type"] == "application/octet-stream"


def test_an_answer_is_compressed_for_who_asks_for_that_alone(server: Server) -> None:
    packed = ask(server, INFER, infer(ROWS), accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    plain = ask(server, INFER, infer(ROWS), accept_encoding="gzip, deflate, br")
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(packed.body) == plain.body


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/nothing", None, 404, "path: "),
        ("/v2/models/mlp/infer/", b"{}", 404, "path: "),
        ("/v2/models/mlp/versions/1/2/infer", b"{}", 404, "path: "),
        ("/v2/models/%2e%2e%2fetc/infer", b"{}", 404, "path: "),
        ("/v2/models/nope/infer", b"{}", 404, "no model is called 'nope'; there are mlp, total"),
        ("/v2/models/nope", None, 404, "no model is called 'nope'"),
        ("/v2/models/mlp/versions/9/infer", b"{}", 404, "version: mlp has version "),
        (INFER, None, 405, "method: this path takes POST, got GET"),
        ("/v2/models/mlp", b"{}", 405, "method: this path takes GET, HEAD, got POST"),
        ("/v2/repository/index", None, 405, "method: this path takes POST, got GET"),
        (INFER, b"{}", 400, "body: object missing required field inputs"),
        (INFER, infer(np.ones((65, 6), np.float32)), 413, ""),
        ("/v2/repository/models/mlp/load", b"", 403, "load: needs a server that was started with"),
        ("/v2/repository/index", b"[]", 400, "body: expected object, got array"),
        ("/v2/repository/index", b'{"ready": 1}', 400, "ready: expected bool, got int"),
        ("/example.json?model=mlp&number=x", None, 400, "number: needs a whole number"),
        ("/example.json?model=other", None, 404, "no model is called 'other'"),
    ],
)
def test_a_refusal_says_why(
    server: Server, path: str, body: bytes | None, status: int, reason: str
) -> None:
    answer = ask(server, path, body)
    assert (answer.status, answer.error.startswith(reason)) == (status, True), answer.error


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({"x_request_timeout": "soon"}, 400, "X-Request-Timeout: needs seconds above zero"),
        ({"x_request_timeout": "-1"}, 400, "X-Request-Timeout: "),
        ({"x_request_timeout": "0"}, 400, "X-Request-Timeout: "),
        ({"x_request_timeout": "nan"}, 400, "X-Request-Timeout: "),
        ({"x_request_timeout": "1e-9"}, 400, "X-Request-Timeout: "),
        ({"inference_header_content_length": "-3"}, 400, "Inference-Header-Content-Length: needs"),
        ({"inference_header_content_length": "x"}, 400, "Inference-Header-Content-Length: needs"),
        ({"inference_header_content_length": "9" * 12}, 400, "Inference-Header-Content-Length: is"),
        ({"content_encoding": "br"}, 415, "Content-Encoding: needs gzip, deflate or identity"),
        ({"x_request_timeout": "0.000000001"}, 504, "mlp had no answer within the deadline"),
    ],
)
def test_a_header_at_fault_is_named(
    server: Server, headers: dict[str, str], status: int, reason: str
) -> None:
    answer = ask(server, INFER, infer(ROWS), **headers)
    assert (answer.status, answer.error.startswith(reason)) == (status, True), answer.error


def test_a_deadline_may_be_a_parameter(server: Server) -> None:
    answer = ask(server, INFER, infer(ROWS, parameters={"timeout": 1}))
    assert answer.status in (200, 504)
    assert ask(server, INFER, infer(ROWS, parameters={"timeout": 9_000_000})).status == 200


def test_allowed_methods_are_told(server: Server) -> None:
    assert ask(server, INFER).headers["allow"] == "POST"


def test_a_sane_identifier_is_kept_and_another_replaced(server: Server) -> None:
    assert ask(server, "/v2", x_request_id="trace:1.a-B_9").headers["x-request-id"] == (
        "trace:1.a-B_9"
    )
    own = [ask(server, "/v2").headers["x-request-id"] for _ in range(2)]
    assert own[0] != own[1]
    for strange in ('a"b', "a b", "x" * 65, "caf\u00e9", "a\tb"):
        assert ask(server, "/v2", x_request_id=strange).headers["x-request-id"] not in strange


def test_the_log_has_a_line_for_each_request(server: Server) -> None:
    before = len(server.log.getvalue().splitlines())
    ask(server, INFER, infer(ROWS), x_request_id="one")
    ask(server, "/v2/models/mlp/ready", x_request_id="two")
    ask(server, "/%0a%22secret%22", x_request_id="three")
    found = {each["request_id"]: each for each in lines(server, before + 3)}
    assert found["one"]["path"] == "/v2/models/{model}/infer"
    assert (found["one"]["model"], found["one"]["rows"], found["one"]["status"]) == ("mlp", 2, 200)
    assert found["one"]["milliseconds"] > 0
    assert found["one"]["bytes"] > 50
    assert found["one"]["method"] == "POST"
    assert found["one"]["time"].endswith("Z")
    assert found["two"]["path"] == "/v2/models/{model}/ready"
    assert (found["three"]["path"], found["three"]["status"]) == ("unknown", 404)
    assert b"secret" not in server.log.getvalue()


def test_metrics_count_what_happened(server: Server) -> None:
    ask(server, INFER, infer(ROWS))
    ask(server, INFER, b"{}")
    ask(server, "/v2/models/made-up/infer", b"{}")
    text = ask(server, "/metrics").body.decode()
    sample = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    inferences = 'topos_http_requests_total{model="mlp",path="/v2/models/{model}/infer",status='
    assert float(sample[inferences + '"200"}']) >= 1
    assert float(sample[inferences + '"400"}']) >= 1
    assert float(sample['topos_request_seconds_count{model="mlp"}']) >= 1
    assert float(sample['topos_batch_rows_bucket{le="2.0",model="mlp"}']) >= 1
    assert float(sample['topos_queue_depth{model="mlp"}']) == 0
    assert float(sample["topos_in_flight"]) == 1
    assert float(sample["topos_body_bytes"]) == 0
    assert "made-up" not in text


def test_the_index_can_leave_out_what_is_not_ready(server: Server) -> None:
    answer = ask(server, "/v2/repository/index", b'{"ready": true}')
    assert [each["name"] for each in json.loads(answer.body)] == ["mlp", "total"]


def test_a_draining_server_is_alive_and_not_ready(server: Server) -> None:
    server.application.draining = True
    try:
        assert ask(server, "/v2/health/ready").status == 503
        assert ask(server, "/v2/models/mlp/ready").status == 503
        assert ask(server, "/v2/health/live").status == 200
        assert ask(server, INFER, infer(ROWS)).status == 200
        server.application.inferences.closed = True
        assert ask(server, INFER, infer(ROWS)).error.startswith("the server takes no more")
    finally:
        server.application.draining = server.application.inferences.closed = False


def test_the_page_is_served(server: Server) -> None:
    assert ask(server, "/").headers["content-type"].startswith("text/html")
    assert len(json.loads(ask(server, "/status.json").body)["models"]) == 2


@pytest.fixture(scope="module")
def guarded(bundles: list[Path]) -> Iterator[Server]:
    with running(bundles, token="right.token==") as server:
        yield server


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer wrong",
        "Basic right.token==",
        "Bearer right.token== x",
        "Bearer \u00fc",
    ],
)
def test_only_the_token_opens_a_guarded_server(guarded: Server, authorization: str) -> None:
    answer = ask(guarded, "/v2", authorization=authorization)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert ask(guarded, "/metrics", authorization=authorization).status == 401
    assert ask(guarded, INFER, infer(ROWS), authorization=authorization).status == 401
    assert ask(guarded, "/status.json", authorization=authorization).status == 401
    assert ask(guarded, "/v2/health/ready", authorization=authorization).status == 200


def test_the_token_opens(guarded: Server) -> None:
    for header in ("Bearer right.token==", "bearer  right.token=="):
        assert ask(guarded, INFER, infer(ROWS), authorization=header).status == 200
    load = ask(guarded, "/v2/repository/models/mlp/load", b"{}", authorization=header)
    assert json.loads(load.body)["name"] == "mlp"


@pytest.mark.parametrize("text", ["", "with space", "line\nbreak", "\u00fcber", "=ab"])
def test_a_token_that_no_header_can_carry_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"^the token needs letters, digits"):
        Token(text)
    assert "secret" not in repr(Token("secret"))


class FailingSession:
    """A session whose only model answers every request with one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def model(self, name: str) -> ModelStatus:
        port = ModelPort("x", (6,), np.dtype(np.float32))
        return ModelStatus(name, "1", True, "", True, (1,), (port,), (port,), "interpreter", 0)

    def models(self) -> tuple[ModelStatus, ...]:
        return (self.model("mlp"),)

    async def infer_async(self, *_: object, deadline: float | None) -> dict[str, Any]:
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

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    asyncio.run(application(scope, receive, send))
    assert application.in_flight == application.inferences.under_way == 0
    start, body = sent
    return start["status"], dict(start["headers"]), json.loads(body["body"])


def test_a_full_queue_is_told_with_when_to_come_again() -> None:
    status, headers, answer = failed(BusyError("mlp", 2.2))
    assert (status, headers[b"retry-after"]) == (429, b"3")
    assert answer == {"error": "the queue of mlp is full, retry in 2.2 seconds"}
    assert failed(BusyError("mlp", 0.01))[1][b"retry-after"] == b"1"


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


class SlowStream(BytesIO):
    """A file that takes a while, as a full pipe does."""

    def write(self, data: Any) -> int:
        time.sleep(0.3)
        return super().write(data)


def test_a_log_that_does_not_keep_up_holds_nobody_up() -> None:
    async def record() -> float:
        log = AccessLog(SlowStream())
        exchange = Exchange("GET", b"some", {})
        longest = 0.0
        for _ in range(40):
            start = time.monotonic()
            log.record(exchange, 200, 0, 0.0)
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - start)
        return longest

    assert asyncio.run(record()) < 0.25


def test_a_log_that_breaks_counts_what_it_lost() -> None:
    class Broken(BytesIO):
        def write(self, data: Any) -> int:
            raise OSError("no space left")

    async def record() -> int:
        log = AccessLog(Broken())
        log.record(Exchange("GET", b"some", {}), 200, 0, 0.0)
        log.flush()
        return log.lost

    assert asyncio.run(record()) == 1


class ReloadedSession(FailingSession):
    """A session that swaps its version while a body is on its way; it answers with zeros."""

    def __init__(self) -> None:
        super().__init__(AssertionError())
        self.version = "1"

    def model(self, name: str) -> ModelStatus:
        return dataclasses.replace(super().model(name), version=self.version)

    async def infer_async(self, *_: object, deadline: float | None) -> dict[str, Any]:
        version, self.version = self.version, "3"
        return {"x": np.full((2, 6), float(version))}


@pytest.mark.parametrize("size", [0, 2**18])
def test_the_version_that_answers_is_the_one_that_is_told(size: int) -> None:
    session: Any = ReloadedSession()
    body = infer(ROWS, padding="x" * size)

    async def receive() -> dict[str, Any]:
        session.version = "2"
        return {"type": "http.request", "body": body}

    status, _, answer = called(Application(session, Observers()), INFER, receive)
    assert status == 200
    assert answer["model_version"] == "2"
    assert set(answer["outputs"][0]["data"]) == {2.0}


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
