"""Answers: statuses, headers, metrics and the log of whatever a client may ask for."""

from __future__ import annotations

import gc
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp, exported_total, truth
from tests.serving.serving_http import (
    INFER,
    ROWS,
    Server,
    apart,
    ask,
    binary,
    connected,
    exchanged,
    infer,
    reply,
    request,
    running,
    until,
)
from topos.serving import Settings
from topos.serving.http.request import Inference

HEADER = "Inference-Header-Content-Length"


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


def logged(server: Server, *identifiers: str) -> dict[str, dict[str, Any]]:
    """The lines of the access log by identifier, once those of all these requests are there."""

    def found() -> dict[str, dict[str, Any]]:
        server.application.log.flush()
        lines = map(json.loads, server.log.getvalue().splitlines())
        told = {each["request_id"]: each for each in lines}
        return told if told.keys() >= set(identifiers) else {}

    return until(found)


def test_a_json_answer_has_the_results_in_the_fewest_digits(server: Server) -> None:
    rows = np.full((1, 6), 0.1, np.float32)
    found = json.loads(ask(server, INFER, infer(rows, id="a\u00fc")).body)
    (output,) = found["outputs"]
    assert found["id"] == "a\u00fc"
    assert output["shape"] == [1, 3]
    assert np.array(output["data"], np.float32).tobytes() == truth(rows).tobytes()
    assert all(len(repr(value)) < 12 for value in output["data"])


@pytest.mark.parametrize("cut", [0, 5])
def test_a_request_out_of_time_leaves_nothing_behind(server: Server, cut: int) -> None:
    sent = request("POST", INFER, infer(ROWS), {"x-request-timeout": "0.000000001"})
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            with connected(server) as connection:
                apart(connection, *filter(None, (sent[: len(sent) - cut], sent[len(sent) - cut :])))
                assert reply(connection).status == 504
        # The last answer may arrive before the server is done with its request.
        until(lambda: not any(isinstance(each, Inference) for each in gc.get_objects()))
    finally:
        gc.enable()


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
        ("/v2/models/mlp/infer//", b"{}", 404, "path: "),
        ("/v2/models/mlp/versions/1/2/infer", b"{}", 404, "path: "),
        ("/v2/models/%2e%2e%2fetc/infer", b"{}", 404, "path: "),
        ("/v2/models/nope/infer", b"{}", 404, "no model is called 'nope'; there are mlp, total"),
        ("/v2/models/nope", None, 404, "no model is called 'nope'"),
        ("/v2/models/mlp/versions/9/infer", b"{}", 404, "version: mlp has version "),
        (INFER, None, 405, "method: this path takes POST, got GET"),
        ("/v2/models/mlp", b"{}", 405, "method: this path takes GET, HEAD, got POST"),
        ("/v2/repository/index", None, 405, "method: this path takes POST, got GET"),
        (INFER, b"{}", 400, "body: lacks 'inputs'"),
        (INFER, infer(np.ones((65, 6), np.float32)), 413, ""),
        ("/v2/repository/models/mlp/load", b"", 403, "load: needs a server that was started with"),
        ("/v2/repository/index", b"[]", 400, "body: needs an object, got an array"),
        ("/v2/repository/index", b'{"ready": 1}', 400, "ready: needs true or false, got a number"),
        ("/v2/repository/index", b"null", 400, "body: needs an object, got null"),
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
        *(
            (
                {"inference_header_content_length": text},
                400,
                f"{'body' if 'first' in reason else HEADER}: {reason}",
            )
            for text, reason in {
                "-3": "needs a number of bytes, got '-3'",
                "x": "needs a number of bytes, got 'x'",
                "1.5": "needs a number of bytes, got '1.5'",
                "": "needs a number of bytes, got ''",
                f"40\r\n{HEADER}: 40": "needs a number of bytes, got '40, 40'",
                "9" * 20: f"is {'9' * 20}, more than the body, which has {len(infer(ROWS))} bytes",
                f"{'0' * 30}999": f"is 999, more than the body, which has {len(infer(ROWS))} bytes",
                "9" * 5000: "has 5000 digits, more than the length of any body",
                "10": f"its first 10 bytes, as {HEADER} says, are no complete JSON",
            }.items()
        ),
        ({"content_encoding": "br"}, 415, "Content-Encoding: needs gzip, deflate or identity"),
        ({"x_request_timeout": "0.000000001"}, 504, "mlp had no answer within the deadline"),
    ],
)
def test_a_header_at_fault_is_named(
    server: Server, headers: dict[str, str], status: int, reason: str
) -> None:
    answer = ask(server, INFER, infer(ROWS), **headers)
    assert (answer.status, answer.error.startswith(reason)) == (status, True), answer.error


@pytest.mark.parametrize(
    "path",
    [
        *("/v2", "/v2/health/live", "/v2/health/ready", "/metrics", "/status.json"),
        *("/v2/models/mlp", "/v2/models/mlp/config", "/v2/models/stats", "/v2/repository/index"),
        INFER,
    ],
)
def test_a_slash_behind_a_path_makes_no_difference(server: Server, path: str) -> None:
    body = infer(ROWS) if path == INFER else b"" if "repository" in path else None
    plain, slashed = ask(server, path, body), ask(server, f"{path}/", body)
    assert plain.status == slashed.status == 200
    assert plain.headers["content-type"] == slashed.headers["content-type"]
    if not path.endswith(("metrics", "json", "stats")):
        assert plain.body == slashed.body


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
    ask(server, INFER, infer(ROWS), x_request_id="one")
    ask(server, "/v2/models/mlp/ready", x_request_id="two")
    ask(server, "/%0a%22secret%22", x_request_id="three")
    found = logged(server, "one", "two", "three")
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
    calls = float(sample['topos_call_seconds_count{model="mlp"}'])
    assert float(sample['topos_batch_rows_bucket{le="1.0",model="mlp"}']) < calls
    assert float(sample['topos_call_seconds_bucket{le="+Inf",model="mlp"}']) == calls >= 1
    assert float(sample['topos_call_seconds_sum{model="mlp"}']) > 0
    for zero in ("queue_depth", "padding_rows_total", "worker_restarts_total"):
        assert float(sample[f'topos_{zero}{{model="mlp"}}']) == 0
    for outcome in ("done", "refused"):
        assert float(sample[f'topos_reloads_total{{model="mlp",outcome="{outcome}"}}']) == 0
    assert float(sample["topos_in_flight"]) == 1
    assert float(sample["topos_body_bytes"]) == 0
    assert "made-up" not in text


def test_the_index_can_leave_out_what_is_not_ready(server: Server) -> None:
    for body in (b'{"ready": true}', b'{"ready": null, "parameters": null}'):
        answer = ask(server, "/v2/repository/index", body)
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
