"""Connections: slow, oversized, broken and vanished clients get their answer and harm nobody."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from uvicorn.server import ServerState

from tests.serving.serving_bundles import truth
from tests.serving.serving_http import (
    SECONDS,
    Server,
    binary,
    closed,
    connected,
    exchanged,
    infer,
    reply,
    request,
    running,
)
from topos.serving.http import Limits
from topos.serving.http.page import page
from topos.serving.http.server import configuration

ROWS = np.arange(12, dtype=np.float32).reshape(2, 6) % 5 - 2
INFER = "/v2/models/mlp/infer"
LIMITS = Limits(
    body_bytes=50_000,
    head_bytes=8_000,
    head_seconds=0.4,
    body_seconds=0.4,
    keep_alive_seconds=1,
    connections=12,
)


@pytest.fixture(scope="module")
def server(two_rows: Path) -> Iterator[Server]:
    with running([two_rows], limits=LIMITS) as server:
        yield server


@pytest.fixture(autouse=True)
def _still_serves(server: Server) -> Iterator[None]:
    """Whatever a test does to the server, a well-formed request is answered after it."""
    yield
    body, headers = binary(ROWS)
    answer = exchanged(server.port, request("POST", INFER, body, headers))
    assert answer.status == 200
    assert answer.body.endswith(truth(ROWS).tobytes())


def test_a_connection_is_kept_and_takes_requests_one_after_another(server: Server) -> None:
    sent = request("POST", INFER, infer(ROWS))
    with connected(server) as connection:
        for _ in range(3):
            connection.sendall(sent)
            assert reply(connection).status == 200


def test_a_length_beyond_the_limit_is_refused_before_the_body(server: Server) -> None:
    sent = request("POST", INFER, headers={"content-length": "50001"})
    answer = exchanged(server.port, sent)
    assert answer.status == 413
    assert answer.error == "body: has 50001 bytes, at most 50000 are taken"


def test_a_client_that_sends_on_after_a_refusal_gets_to_read_it(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(request("POST", INFER, headers={"content-length": "4000000"}))
        for _ in range(40):
            connection.sendall(bytes(100_000))
        assert reply(connection).status == 413
        connection.sendall(request("GET", "/v2/health/live"))
        assert reply(connection).status == 200


def test_who_waits_for_leave_to_send_is_refused_without_it(server: Server) -> None:
    headers = {"content-length": "50001", "expect": "100-continue"}
    answer = exchanged(server.port, request("POST", INFER, headers=headers))
    assert answer.status == 413


def test_a_chunked_body_is_taken_and_bounded(server: Server) -> None:
    head = f"POST {INFER} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    body = infer(ROWS)
    parts = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (body[:50], body[50:]))
    assert exchanged(server.port, head + parts + b"0\r\n\r\n").status == 200
    with connected(server) as connection:
        connection.sendall(head + b"d000\r\n" + bytes(0xD000))
        assert reply(connection).error == "body: is longer than 50000 bytes"


def test_a_bomb_is_refused(server: Server) -> None:
    bomb = gzip.compress(bytes(2**24))
    assert len(bomb) < 50_000
    sent = request("POST", INFER, bomb, {"content-encoding": "gzip"})
    answer = exchanged(server.port, sent)
    assert (answer.status, answer.error) == (413, "body: is longer than 50000 bytes")


def test_a_body_that_stalls_is_refused_and_the_connection_closed(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(request("POST", INFER, infer(ROWS))[:-5])
        answer = reply(connection)
        assert answer.status == 408
        assert answer.error == "body: did not arrive within 0.4 seconds"
        assert closed(connection)


@pytest.mark.parametrize("rest", [b"", b"\r\n"])
def test_an_idle_connection_is_closed(server: Server, rest: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(request("GET", "/v2/health/live"))
        assert reply(connection).status == 200
        connection.sendall(rest)
        assert closed(connection)


def test_the_rest_of_a_refused_body_has_a_time_limit(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(request("POST", INFER, headers={"content-length": "60000"}) + b"some")
        assert reply(connection).status == 413
        with pytest.raises(ConnectionError):
            _drip(connection)


def _drip(connection: socket.socket) -> None:
    """Sends a byte now and then, for longer than the server has any reason to wait."""
    for _ in range(60):
        connection.sendall(b"x")
        time.sleep(0.05)


def test_clients_that_leave_in_the_middle_are_forgotten(server: Server) -> None:
    whole = request("POST", INFER, infer(ROWS))
    for length in (1, 60, len(whole) - 1, len(whole)):
        with connected(server) as connection:
            connection.sendall(whole[:length])
            # A reset instead of a farewell.
            option = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
    _until_idle(server)


def _until_idle(server: Server) -> None:
    for _ in range(200):
        if not server.application.in_flight:
            return
        time.sleep(0.02)
    raise AssertionError("a request of a client that left is still under way")


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    sent = b"".join(request("POST", INFER, infer(ROWS, id=str(n))) for n in range(4))
    with connected(server) as connection:
        connection.sendall(sent)
        received = b""
        while received.count(b'"outputs"') < 4:
            received += connection.recv(65536)
    found = [received.index(b'"id":"%d"' % n) for n in range(4)]
    assert found == sorted(found)


def test_an_answer_without_a_body_arrives(server: Server) -> None:
    with connected(server) as connection:
        for method, path in (("HEAD", "/v2/health/live"), ("GET", "/")):
            known = {"if-none-match": page().headers["ETag"]} if path == "/" else {}
            connection.sendall(request(method, path, headers=known))
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            assert received.startswith((b"HTTP/1.1 200", b"HTTP/1.1 304"))
            assert received.endswith(b"\r\n\r\n")


def test_leave_to_send_is_given_at_once(server: Server) -> None:
    body = infer(ROWS)
    with connected(server) as connection:
        sent = request("POST", INFER, body, {"expect": "100-continue"})
        connection.sendall(sent[: -len(body)])
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert reply(connection).status == 200


def test_a_client_that_reads_nothing_is_given_up(server: Server) -> None:
    count = 1_000
    with connected(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # Answers pile up in the kernel first, then in the server, which has others to serve.
        connection.sendall(request("GET", "/", headers={"x-request-id": "deaf"}) * count)
        answered, before = _deaf(server), -1
        while answered != before or not answered:
            time.sleep(3 * LIMITS.body_seconds)
            answered, before = _deaf(server), answered
        assert server.application.in_flight == 0
    assert answered < count


def _deaf(server: Server) -> int:
    return server.log.getvalue().count(b'"deaf"')


class Stuck(asyncio.Transport):
    """A transport to a client that reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 1000


def test_a_connection_that_closes_gives_up_who_reads_nothing(server: Server) -> None:
    async def ask() -> None:
        config = configuration(server.application)
        config.load()
        protocol: Any = config.http_protocol_class
        connection, transport = protocol(config, ServerState(), {}), Stuck()
        connection.connection_made(transport)
        sent = request("GET", "/v2/health/live", headers={"connection": "close"})
        connection.data_received(sent)
        async with asyncio.timeout(SECONDS):
            while not transport.aborted:
                await asyncio.sleep(0.02)
        assert transport.closed
        connection.connection_lost(None)

    asyncio.run(ask())


def test_a_pipeline_has_an_end(server: Server) -> None:
    sent = request("GET", "/v2/health/live")
    with connected(server) as connection:
        connection.sendall(sent * 400)
        with connection.makefile("rb") as stream:
            received = stream.read()
    assert received.count(b"HTTP/1.1 200 ") == 257
    assert received.count(b"HTTP/1.1 503 ") == 1
    assert received.endswith(b'{"error":"connection: 256 requests wait for their answers already"}')
