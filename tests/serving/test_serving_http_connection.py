"""Connections: slow, oversized, broken and vanished clients get their answer and harm nobody."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from uvicorn.server import ServerState

from tests.serving.serving_http import (
    INFER,
    LIVE,
    ROWS,
    SECONDS,
    Server,
    closed,
    connected,
    exchanged,
    infer,
    reply,
    request,
    until,
)
from topos.serving.http import Limits
from topos.serving.http.page import page
from topos.serving.http.server import configuration

LIMITS = Limits(
    body_bytes=50_000,
    head_bytes=8_000,
    head_seconds=0.4,
    body_seconds=0.4,
    keep_alive_seconds=1,
    connections=12,
)
LONG = request("POST", INFER, headers={"content-length": "50001"})
pytestmark = pytest.mark.usefixtures("still_serves")


def test_a_connection_is_kept_and_takes_requests_one_after_another(server: Server) -> None:
    sent = request("POST", INFER, infer(ROWS))
    with connected(server) as connection:
        for _ in range(3):
            connection.sendall(sent)
            assert reply(connection).status == 200


def test_a_length_beyond_the_limit_is_refused_before_the_body(server: Server) -> None:
    answer = exchanged(server.port, LONG)
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
@pytest.mark.parametrize(("sent", "status"), [(LIVE, 200), (LONG + bytes(50_001), 413)])
def test_an_idle_connection_is_closed(
    server: Server, sent: bytes, status: int, rest: bytes
) -> None:
    with connected(server) as connection:
        connection.sendall(sent)
        assert reply(connection).status == status
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
    until(lambda: not server.application.in_flight)


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
    count, sent = 1_000, request("GET", "/", headers={"x-request-id": "deaf"})
    with connected(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # Answers pile up in the kernel first, then in the server, which has others to serve.
        connection.sendall(sent * count)
        until(lambda: server.application.bodies.held)
        until(lambda: not server.application.in_flight)
    assert server.log.getvalue().count(b'"deaf"') < count


class Stuck(asyncio.Transport):
    """A transport to a client that reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = self.paused = False
        self.aborted, self.resumed, self.sent = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))
        self.sent.set()

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted.set()

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 1000

    def is_reading(self) -> bool:
        return not self.paused

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False
        self.resumed.set()


def on_a_connection(server: Server, ask: Callable[[Any, Stuck], Awaitable[None]]) -> None:
    """Runs `ask` with a connection of the server's kind and the transport to its client."""

    async def run() -> None:
        config = configuration(server.application)
        config.load()
        protocol: Any = config.http_protocol_class
        connection, transport = protocol(config, ServerState(), {}), Stuck()
        connection.connection_made(transport)
        await ask(connection, transport)
        connection.connection_lost(None)

    asyncio.run(run())


def test_a_connection_that_closes_gives_up_who_reads_nothing(server: Server) -> None:
    async def ask(connection: Any, transport: Stuck) -> None:
        sent = request("GET", "/v2/health/live", headers={"connection": "close"})
        connection.data_received(sent)
        await asyncio.wait_for(transport.aborted.wait(), SECONDS)
        assert transport.closed

    on_a_connection(server, ask)


@pytest.mark.parametrize("ends", [{}, {"connection": "close"}])
def test_head_and_body_of_a_response_are_one_write(server: Server, ends: dict[str, str]) -> None:
    async def ask(connection: Any, transport: Stuck) -> None:
        connection.data_received(request("GET", "/v2/health/live", headers=ends))
        await asyncio.wait_for(transport.sent.wait(), SECONDS)
        (written,) = transport.written
        assert written.startswith(b"HTTP/1.1 200 ")
        assert written.endswith(b'{"live":true}')

    on_a_connection(server, ask)


def test_a_pipeline_is_answered_whole_and_waits_with_the_client(server: Server) -> None:
    count = 400
    with connected(server) as connection:
        connection.sendall(LIVE * count)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            received = stream.read()
    assert received.count(b"HTTP/1.1 200 ") == count

    async def ask(connection: Any, transport: Stuck) -> None:
        # No more is taken while an answer is due and as much waits behind it as may.
        connection.data_received(LIVE * (2**16 // len(LIVE)))
        assert transport.is_reading()
        connection.data_received(LIVE * 2)
        assert not transport.is_reading()
        await asyncio.wait_for(transport.resumed.wait(), SECONDS)

    on_a_connection(server, ask)
