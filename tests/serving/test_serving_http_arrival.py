"""Arrival: a request at once, in parts or behind another has the same answer, counted once."""

from __future__ import annotations

import gzip
import itertools
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp, truth
from tests.serving.serving_gate import Gate, gated
from tests.serving.serving_http import (
    GOOD,
    INFER,
    LIVE,
    ROWS,
    Reply,
    Server,
    binary,
    connected,
    infer,
    refuses,
    request,
    running,
    until,
)
from topos import Tape
from topos.bundle import export
from topos.serving import Settings, thread_worker

BINARY, LENGTH = binary(ROWS)
RAW = "inference_header_content_length"
# The results of `wide` are rows of 2048 bytes, and the loop writes 2**17.
TALL, COLUMNS = np.ones((4096, 1), np.float32), np.arange(512, dtype=np.float32)[None] % 5
NUMBERS = itertools.count()


def posted(mark: str, body: bytes = GOOD, model: str = "mlp", **more: str) -> bytes:
    """The bytes of a request with these headers; one without a value is left out."""
    sent = {"authorization": "Bearer secret", "x_request_id": mark, "http": "1.1", **more}
    named = {name.replace("_", "-"): value for name, value in sent.items() if value}
    http = b"HTTP/" + named.pop("http").encode()
    return request("POST", f"/v2/models/{model}/infer", body, named).replace(b"HTTP/1.1", http, 1)


def read(stream: BinaryIO) -> Reply:
    """The next answer, behind any leave to send, without what differs from one to the next."""
    while (line := stream.readline()).startswith(b"HTTP/1.1 100 "):
        assert stream.readline() == b"\r\n"
    headers = dict[str, str]()
    while (field := stream.readline()) != b"\r\n":
        name, _, value = field.decode().rstrip("\r\n").partition(": ")
        assert name not in headers
        headers[name] = "" if name in ("date", "x-request-id") else value
    return Reply(int(line.split(b" ")[1]), headers, stream.read(int(headers["content-length"])))


@contextmanager
def client(server: Server) -> Iterator[tuple[socket.socket, BinaryIO]]:
    with connected(server) as connection, connection.makefile("rb") as stream:
        yield connection, stream


def standing(server: Server) -> tuple[int, int, int]:
    it = server.application
    return it.in_flight, it.inferences.under_way, it.bodies.held


def logged(server: Server, mark: str) -> list[tuple[Any, ...]]:
    """What the log tells of the requests with that mark, once there is anything."""
    names = ("method", "path", "model", "rows", "status", "bytes")

    def found() -> list[tuple[Any, ...]]:
        server.application.log.flush()
        lines = map(json.loads, server.log.getvalue().splitlines())
        return [tuple(each[name] for name in names) for each in lines if each["request_id"] == mark]

    return until(found)


def counted(server: Server) -> Counter[str]:
    """Inferences that the server has counted, and outcomes that its session has."""
    names = "topos_http_requests_total{", "topos_request_seconds_count{"
    text = server.application.metrics.text([], {}).decode().splitlines()
    lines = (line.split(" ") for line in text if line.startswith(names) and "live" not in line)
    counts = {name: int(float(value)) for name, value in lines}
    return Counter({**counts, **server.application.session.counters("mlp").outcomes})


def asked(server: Server, how: str, **sent: Any) -> tuple[Reply, list[tuple[Any, ...]], Any]:
    """All that comes of a request that arrives like that."""
    mark, before, first = f"mark{next(NUMBERS)}", counted(server), standing(server)
    whole = posted(mark, **sent)
    cut = len(whole) - (len(sent.get("body", GOOD)) // 2 if how == "in parts" else 0)
    with client(server) as (connection, stream):
        connection.sendall((LIVE if how == "behind another" else b"") + whole[:cut])
        if how == "behind another":
            assert read(stream).status == 200
        if how == "in parts":
            until(lambda: standing(server) != first)
        connection.sendall(whole[cut:])
        answer = read(stream)
        lines = logged(server, mark)
        until(lambda: standing(server) == first)
    return answer, lines, counted(server) - before


def alike(server: Server, status: int, *others: str, **sent: Any) -> None:
    """Requires the same of a request sent at once and in other ways."""
    found = answer, (line,), counts = asked(server, "at once", **sent)
    assert (answer.status, line[4:]) == (status, (status, len(answer.body)))
    assert max(counts.values()) == sum("_http_" in name for name in counts) == 1
    for how in others:
        assert asked(server, how, **sent) == found


@contextmanager
def served(*bundles: Path, **settings: Any) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        # A call on the loop would have a gate hold up everything.
        patch.setattr(thread_worker, "QUICK_SECONDS", 0.0)
        chosen = Settings(queue_requests=2, **settings)
        with running(bundles, settings=chosen, token="secret") as server:
            yield server


@pytest.fixture(scope="module")
def server(two_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, tape = tmp_path_factory.mktemp("wide"), Tape()
    x = tape.input(np.zeros((128, 1), np.float32), name="x")
    y = (x @ tape.parameter(COLUMNS, name="w")).named("y")
    plan = tape.into_network().entry([y.symbol]).lower()
    export(folder / "wide", [plan], batched=True, name="wide")
    with served(two_rows, folder / "wide") as server:
        yield server


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    with gated(monkeypatch) as gate:
        yield gate


@pytest.mark.parametrize(
    ("status", "requests"),
    [
        (200, [{"body": BINARY, **LENGTH}, {"host": "[::1]:80"}]),
        (200, [{"body": ROWS.tobytes(), RAW: "0"}, {"model": "mlp/versions/{}"}]),
        (200, [{"body": infer(ROWS, id="\u00fc", outputs=[{"name": "scores"}])}]),
        (200, [{"body": infer(TALL[:64]), "model": "wide"}, {"x_request_timeout": "9"}]),
        (200, [{"accept_encoding": "gzip, deflate", "expect": "100-continue"}]),
        (200, [{"http": "1.0", "connection": "keep-alive"}, {"model": "ml%70"}]),
        (200, [{"accept_encoding": "gzip"}, {"content_length": f"00{len(GOOD)}"}]),
        (200, [{"body": gzip.compress(GOOD, mtime=0), "content_encoding": "gzip"}]),
        (200, [{"body": infer(TALL[:65]), "model": "wide"}, {"connection": "close"}]),
        (400, [{"body": b"{]"}, {"body": b""}, {"body": infer(ROWS[:, :5])}]),
        (400, [{"x_request_timeout": "soon"}, {RAW: "x"}, {"host": "a b"}]),
        (401, [{"authorization": ""}, {"authorization": "Bearer other"}]),
        (404, [{"model": "nope"}, {"model": "mlp/versions/9"}, {"model": "mlp/more"}]),
        (504, [{"x_request_timeout": "0.000000001"}]),
    ],
)
def test_however_a_request_arrives_it_has_one_answer(
    server: Server, status: int, requests: list[Any]
) -> None:
    for sent in requests:
        version = server.application.session.served("mlp").version
        others = ("behind another", "in parts")[: 1 + (status == 200)]
        model = sent.get("model", "mlp").format(version)
        alike(server, status, *others, **{**sent, "model": model})


def test_answers_come_in_the_order_of_their_requests(server: Server) -> None:
    marks = ["first", "behind-it", "in-two-parts", "by-itself", "last"]
    sent = [posted(mark, infer(ROWS + n)) for n, mark in enumerate(marks)]
    with client(server) as (connection, stream):
        connection.sendall(sent[0] + sent[1] + LIVE + sent[2][:-9])
        answers = [read(stream), read(stream)]
        assert json.loads(read(stream).body) == {"live": True}
        connection.sendall(sent[2][-9:] + sent[3][:30])
        answers.append(read(stream))
        connection.sendall(sent[3][30:] + sent[4])
        answers += [read(stream), read(stream)]
        connection.shutdown(socket.SHUT_WR)
        assert stream.read() == b""
    data = [json.loads(answer.body)["outputs"][0]["data"] for answer in answers]
    assert data == [truth(ROWS + n).ravel().tolist() for n in range(5)]
    assert [len(logged(server, mark)) for mark in marks] == [1] * 5


def test_what_waits_is_under_way_until_it_is_answered(server: Server, gate: Gate) -> None:
    with client(server) as (staying, stream), connected(server) as leaving:
        staying.sendall(posted("stays"))
        leaving.sendall(posted("leaves"))
        until(lambda: standing(server) == (2, 2, 2 * len(GOOD)))
        # A reset instead of a farewell.
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        leaving.close()
        alike(server, 429, "behind another", "in parts")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server.application.inferences, "closed", True)
            alike(server, 503, "behind another")
        gate.opened.set()
        line = "POST", INFER.replace("mlp", "{model}"), "mlp", 2, 200, len(read(stream).body)
    assert logged(server, "stays") == logged(server, "leaves") == [line]
    until(lambda: standing(server) == (0, 0, 0))


@pytest.mark.parametrize("place", ["read_inference", "write_response"])
def test_our_faults_are_logged(
    server: Server, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"topos.serving.http.infer.{place}", None)
        with client(server) as (connection, stream):
            connection.sendall(posted("faulty"))
            answer = read(stream)
    assert answer.status == 500
    assert answer.error == "the server failed on request faulty"
    assert caplog.text.count("request faulty failed") == caplog.text.count("TypeError: ") == 1


def test_an_answer_by_a_version_that_was_not_asked_for_is_none(tmp_path: Path, gate: Gate) -> None:
    old = exported_mlp(tmp_path / "mlp", rows=(2,)).version
    # The call takes too long, and the next worker finds another bundle.
    with served(tmp_path / "mlp", call_seconds=1.0) as server, client(server) as (asking, stream):
        asking.sendall(posted("old", model=f"mlp/versions/{old}"))
        until(lambda: gate.seen)
        new = exported_mlp(tmp_path / "mlp", rows=(2,), scale=2.0).version
        until(lambda: len(gate.seen) == 2)
        gate.opened.set()
        answer = read(stream)
    assert answer.error == f"version: mlp has version {new}, got {old!r}"
    assert answer.status == 404


def test_a_server_that_ends_answers_what_waits(two_rows: Path, gate: Gate) -> None:
    with served(two_rows) as server, client(server) as (one, first), client(server) as (two, last):
        one.sendall(posted("one"))
        two.sendall(posted("two"))
        until(lambda: standing(server)[:2] == (2, 2))
        server.stop()
        # It stops listening as it tells its connections that it ends.
        until(lambda: refuses(server))
        gate.opened.set()
        for stream in (first, last):
            answer, rest = read(stream), stream.read()
            assert (answer.status, answer.headers["connection"], rest) == (200, "close", b"")
