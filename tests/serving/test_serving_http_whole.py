"""Requests that arrive whole: answered as those in parts are, in their order, and counted once."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp, truth
from tests.serving.serving_gate import Gate, gated
from tests.serving.serving_http import Reply, Server, binary, connected, infer, request, running
from topos import Tape
from topos.bundle import export
from topos.serving import Settings, thread_worker
from topos.serving.http import Application
from topos.serving.http.access_log import AccessLog

ROWS = np.arange(12, dtype=np.float32).reshape(2, 6) % 5 - 2
GOOD, (BINARY, LENGTH) = infer(ROWS), binary(ROWS)
LIVE, RAW = request("GET", "/v2/health/live"), "inference_header_content_length"
# The results of `wide` are rows of 2048 bytes, and the loop writes 2**17.
TALL, COLUMNS = np.ones((4096, 1), np.float32), np.arange(512, dtype=np.float32)[None] % 5


class Watched:
    """A server, what it logged of each request by its mark, and the turns of those taken whole."""

    server: Server
    session: Any

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.logged: dict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
        self.turns: dict[bytes, Any] = {}
        take, record = Application.take, AccessLog.record

        def taking(*given: Any) -> bool:
            taken = take(*given)
            if taken:
                self.turns[dict(given[3])[b"mark"]] = given[5].args[0]
            return taken

        def recording(log: Any, exchange: Any, status: int, size: int, seconds: float) -> None:
            record(log, exchange, status, size, seconds)
            told = exchange.method, exchange.path, exchange.model, exchange.rows, status, size
            self.logged[exchange.headers.get(b"mark", b"")].append(told)

        patch.setattr(Application, "take", taking)
        patch.setattr(AccessLog, "record", recording)

    @contextmanager
    def client(self) -> Iterator[tuple[socket.socket, BinaryIO]]:
        with connected(self.server) as connection, connection.makefile("rb") as stream:
            yield connection, stream

    def standing(self) -> tuple[int, int, int]:
        it = self.server.application
        return it.in_flight, it.inferences.under_way, it.bodies.held

    def counted(self) -> Counter[str]:
        """Inferences that the server has counted, and outcomes that its session has."""
        names = "topos_http_requests_total{", "topos_request_seconds_count{"
        text = self.server.application._metrics.text().decode().splitlines()
        lines = (line.split(" ") for line in text if line.startswith(names) and "live" not in line)
        counts = {name: int(float(value)) for name, value in lines}
        return Counter({**counts, **self.session.counters("mlp").outcomes})

    def asked(self, how: str, **sent: Any) -> tuple[str, Any]:
        """Which way a request goes that is sent like that, and all that comes of it."""
        mark, counted, standing = b"%d" % len(self.logged), self.counted(), self.standing()
        whole, first = posted(mark, **sent), LIVE if how == "behind another" else b""
        cut = len(whole) - (len(sent.get("body", GOOD)) // 2 if how == "in parts" else 0)
        with self.client() as (connection, stream):
            connection.sendall(first + whole[:cut])
            assert not first or read(stream).status == 200
            eventually(lambda: self.logged[mark] or self.standing() != standing)
            connection.sendall(whole[cut:])
            answer = read(stream)
            eventually(lambda: self.logged[mark] and self.standing() == standing)
        way = "whole" if mark in self.turns else "long"
        return way, (answer, self.logged[mark], self.counted() - counted)

    def alike(self, status: int, *others: str, **sent: Any) -> str:
        """The way of a request sent in one piece; the others are long and come to the same."""
        (way, found), *rest = (self.asked(how, **sent) for how in ("in one piece", *others))
        answer, (line,), counts = found
        assert (answer.status, line[4:]) == (status, (status, len(answer.body)))
        assert max(counts.values()) == sum("_http_" in name for name in counts) == 1
        assert rest == [("long", found)] * len(others)
        return way


def posted(mark: bytes, body: bytes = GOOD, model: str = "mlp", **more: str) -> bytes:
    """The bytes of a request with these headers; one without a value is left out."""
    sent = {"authorization": "Bearer secret", "mark": mark.decode(), "http": "1.1", **more}
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
        made = name == "date" or (name == "x-request-id" and value != "own")
        headers[name] = "" if made else value
    return Reply(int(line.split(b" ")[1]), headers, stream.read(int(headers["content-length"])))


def eventually(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


@contextmanager
def watched(*bundles: Path) -> Iterator[Watched]:
    with pytest.MonkeyPatch.context() as patch:
        # A call on the loop would have a gate hold up everything.
        patch.setattr(thread_worker, "QUICK_SECONDS", 0.0)
        it = Watched(patch)
        with running(bundles, settings=Settings(queue_requests=2), token="secret") as it.server:
            it.session = it.server.application.inferences._session
            yield it


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder, tape = tmp_path_factory.mktemp("whole"), Tape()
    exported_mlp(folder / "mlp", rows=(1, 2))
    x = tape.input(np.zeros((128, 1), np.float32), name="x")
    y = (x @ tape.parameter(COLUMNS, name="w")).named("y")
    plan = tape.into_network().entry([y.symbol]).lower()
    export(folder / "wide", [plan], batched=True, name="wide")
    with watched(folder / "mlp", folder / "wide") as it:
        yield it


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    with gated(monkeypatch) as gate:
        yield gate


@pytest.mark.parametrize(
    ("status", "way", "requests"),
    [
        (200, "whole", [{"body": BINARY, **LENGTH}, {"host": "[::1]:80"}]),
        (200, "whole", [{"body": ROWS.tobytes(), RAW: "0"}, {"model": "mlp/versions/{}"}]),
        (200, "whole", [{"body": infer(ROWS, id="\u00fc", outputs=[{"name": "scores"}])}]),
        (200, "whole", [{"body": infer(TALL[:64]), "model": "wide"}, {"x_request_id": "own"}]),
        (200, "whole", [{"connection": "close"}, {"x_request_id": "?", "x_request_timeout": "9"}]),
        (200, "whole", [{"accept_encoding": "gzip, deflate", "expect": "100-continue"}]),
        (200, "long", [{"http": "1.0", "connection": "keep-alive"}, {"model": "ml%70"}]),
        (200, "long", [{"accept_encoding": "gzip"}, {"content_length": f"00{len(GOOD)}"}]),
        (200, "long", [{"body": gzip.compress(GOOD), "content_encoding": "gzip"}]),
        (200, "long", [{"body": infer(TALL[:65]), "model": "wide"}]),
        (400, "whole", [{"body": b"{]"}, {"body": b""}, {"body": infer(ROWS[:, :5])}]),
        (400, "whole", [{"x_request_timeout": "soon"}, {RAW: "x"}, {"host": "a b"}]),
        (401, "whole", [{"authorization": ""}, {"authorization": "Bearer other"}]),
        (404, "whole", [{"model": "nope"}, {"model": "mlp/versions/9"}]),
        (404, "long", [{"model": "mlp/more"}]),
        (504, "whole", [{"x_request_timeout": "0.000000001"}]),
    ],
)
def test_no_client_can_tell(it: Watched, status: int, way: str, requests: list[Any]) -> None:
    for sent in requests:
        model = sent.get("model", "mlp").format(it.session.served("mlp").version)
        others = ("behind another", "in parts")[: 1 + bool(sent.get("body", GOOD))]
        assert it.alike(status, *others, **{**sent, "model": model}) == way


def test_answers_come_in_the_order_of_their_requests(it: Watched) -> None:
    marks = [b"first", b"behind it", b"in two parts", b"by itself", b"last"]
    sent = [posted(mark, infer(ROWS + n)) for n, mark in enumerate(marks)]
    with it.client() as (connection, stream):
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
    eventually(lambda: [len(it.logged[mark]) for mark in marks] == [1] * 5)
    assert [mark for mark in marks if mark in it.turns] == [b"first", b"by itself"]


def test_what_waits_is_under_way_until_it_is_answered(it: Watched, gate: Gate) -> None:
    with it.client() as (staying, stream), connected(it.server) as leaving:
        staying.sendall(posted(b"stays"))
        leaving.sendall(posted(b"leaves"))
        eventually(lambda: it.standing() == (2, 2, 2 * len(GOOD)))
        # A reset instead of a farewell.
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        leaving.close()
        eventually(lambda: it.turns[b"leaves"].disconnected)
        assert it.alike(429, "behind another", "in parts") == "whole"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(it.server.application.inferences, "closed", True)
            assert it.alike(503, "behind another") == "whole"
        gate.opened.set()
        line = "POST", "/v2/models/{model}/infer", "mlp", 2, 200, len(read(stream).body)
        eventually(lambda: it.logged[b"stays"] and it.logged[b"leaves"])
    assert it.logged[b"stays"] == it.logged[b"leaves"] == [line]
    assert it.standing() == (0, 0, 0)


@pytest.mark.parametrize("place", ["read_inference", "write_response"])
def test_our_faults_are_logged(it: Watched, caplog: pytest.LogCaptureFixture, place: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"topos.serving.http.infer.{place}", None)
        assert it.alike(500, "in parts", x_request_id="own") == "whole"
    assert caplog.text.count("request own failed") == caplog.text.count("TypeError: ") == 2


def test_who_has_yet_to_read_an_answer_goes_the_long_way(it: Watched) -> None:
    large = posted(b"large", TALL.tobytes(), "wide", inference_header_content_length="0")
    with it.client() as (connection, stream):
        connection.sendall(posted(b"before"))
        answer = read(stream)
        connection.sendall(large)
        eventually(lambda: it.logged[b"large"])
        assert it.turns[b"before"].transport.get_write_buffer_size()
        connection.sendall(posted(b"after"))
        eventually(lambda: it.logged[b"after"] or it.standing()[0])
        assert read(stream).body.endswith((TALL @ COLUMNS).tobytes())
        assert read(stream) == answer
        eventually(lambda: it.logged[b"after"])
    assert {b"before", b"large", b"after"} & it.turns.keys() == {b"before"}


def test_an_answer_by_a_version_that_was_not_asked_for_is_none(tmp_path: Path, gate: Gate) -> None:
    old = exported_mlp(tmp_path / "mlp", rows=(2,)).version
    sent = [posted(mark, model=f"mlp/versions/{old}") for mark in (b"whole", b"long")]
    with watched(tmp_path / "mlp") as it, it.client() as (one, first), it.client() as (two, second):
        one.sendall(sent[0])
        two.sendall(sent[1][:-9])
        eventually(lambda: gate.seen and it.standing()[:2] == (2, 2))
        two.sendall(sent[1][-9:])
        eventually(lambda: it.standing() == (2, 2, 2 * len(GOOD)))
        new = exported_mlp(tmp_path / "mlp", rows=(2,), scale=2.0).version
        lane = it.session._models["mlp"]._lane
        lane.loop.call_soon_threadsafe(lane._worker.stop, "its bundle is another by now")
        eventually(lambda: len(gate.seen) == 2)
        gate.opened.set()
        answer = read(first)
        assert (answer.status, read(second)) == (404, answer)
        assert answer.error == f"version: mlp has version {new}, got {old!r}"
    assert list(it.turns) == [b"whole"]
    assert it.logged[b"whole"] == it.logged[b"long"]


def test_a_server_that_ends_answers_what_waits(tmp_path: Path, gate: Gate) -> None:
    exported_mlp(tmp_path / "mlp", rows=(1, 2))
    with watched(tmp_path / "mlp") as it, it.client() as (one, first), it.client() as (two, second):
        one.sendall(posted(b"one"))
        two.sendall(posted(b"two"))
        eventually(lambda: it.standing() == (2, 2, 2 * len(GOOD)))
        it.server.stop()
        eventually(lambda: not any(turn.keep_alive for turn in it.turns.values()))
        gate.opened.set()
        for stream in (first, second):
            answer, rest = read(stream), stream.read()
            assert (answer.status, answer.headers["connection"], rest) == (200, "close", b"")
