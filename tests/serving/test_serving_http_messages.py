"""Messages on a connection: where each ends, what of it counts, and the order of the answers."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from tests.serving.serving_gate import gated
from tests.serving.serving_http import (
    INFER,
    ROWS,
    Server,
    apart,
    closed,
    connected,
    exchanged,
    infer,
    reply,
    request,
    until,
)
from topos.serving import thread_worker
from topos.serving.http import Limits

LIMITS = Limits(head_bytes=8_000, head_seconds=0.4, body_seconds=5)
CHUNKED = f"POST {INFER} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n".encode()
TOKEN = "secret"
UPGRADE = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c"}


def authorized(method: str, path: str, body: bytes = b"", **more: Any) -> bytes:
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    return request(method, path, body, {"authorization": "Bearer secret", **headers})


def chunked(headers: bytes, trailers: bytes) -> bytes:
    body = infer(ROWS)
    return CHUNKED + headers + b"\r\n%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)


def statuses(connection: socket.socket, count: int) -> list[int]:
    """The statuses of so many answers, which may arrive together."""
    found = []
    with connection.makefile("rb") as stream:
        for _ in range(count):
            found.append(int(stream.readline().split(b" ")[1]))
            length = 0
            while (line := stream.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                length = int(value) if name == b"content-length" else length
            stream.read(length)
    return found


def test_the_fields_of_trailers_count_for_nothing(server: Server) -> None:
    token = b"authorization: Bearer secret\r\n"
    assert exchanged(server.port, chunked(b"", token)).status == 401
    trailers = b"x-request-id: late\r\ncontent-encoding: gzip\r\n"
    answer = exchanged(server.port, chunked(token, trailers))
    assert answer.status == 200
    assert answer.headers["x-request-id"] != "late"


@pytest.mark.parametrize("trailer", [b"a: b\r\n" * 2_000, b"a: " + b"b" * 12_000])
def test_trailers_beyond_the_limit_of_a_head_are_refused(server: Server, trailer: bytes) -> None:
    with connected(server) as connection:
        apart(connection, chunked(b"authorization: Bearer secret\r\n", b"")[:-2], trailer)
        assert reply(connection).status == 431
        assert closed(connection)


def test_trailers_that_arrive_with_the_body_count_as_well(server: Server) -> None:
    sent = chunked(b"authorization: Bearer secret\r\n", b"a: b\r\n" * 2_000)
    with connected(server) as connection:
        connection.sendall(sent)
        assert reply(connection).status == 431
        assert closed(connection)


def test_an_upgrade_is_ignored_and_the_body_is_read_by_its_length(server: Server) -> None:
    body = infer(ROWS)
    sent = authorized("POST", INFER, body, **UPGRADE)
    with connected(server) as connection:
        for size in (len(sent), len(sent) - len(body), len(sent) - 1, 40):
            apart(connection, sent[:size], sent[size:])
            assert reply(connection).status == 200
        connection.sendall(sent * 3)
        assert statuses(connection, 3) == [200, 200, 200]


def test_a_body_behind_an_upgrade_is_no_request(server: Server) -> None:
    smuggled = authorized("GET", "/v2/models/mlp/config")
    head = authorized("POST", INFER, b"", content_length=str(len(smuggled)), **UPGRADE)
    with connected(server) as connection:
        apart(connection, head, smuggled + authorized("GET", "/v2/health/live"))
        assert statuses(connection, 2) == [400, 200]


@pytest.mark.parametrize("bad", [b"GARBAGE\r\n\r\n", CHUNKED + b"\r\nxyz\r\n"])
def test_a_bad_request_is_refused_after_the_answers_to_those_before_it(
    server: Server, bad: bytes
) -> None:
    good = authorized("POST", INFER, infer(ROWS))
    with connected(server) as connection:
        connection.sendall(good * 3 + bad)
        assert statuses(connection, 4) == [200, 200, 200, 400]
        assert closed(connection)


def test_a_request_that_is_worked_on_outlives_a_head_that_stalls(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call on the loop would have the gate hold up everything.
    monkeypatch.setattr(thread_worker, "QUICK_SECONDS", 0.0)
    with gated(monkeypatch) as gate, connected(server) as connection:
        connection.sendall(authorized("POST", INFER, infer(ROWS)) + b"GET /v2")
        until(lambda: gate.seen)
        time.sleep(1.75 * LIMITS.head_seconds)
        gate.opened.set()
        assert reply(connection).status == 200
        # The time of a head starts with the answer to what comes before it.
        time.sleep(0.5 * LIMITS.head_seconds)
        connection.sendall(b"/health/live HTTP/1.1\r\nhost: x\r\n\r\nGET /v2")
        assert statuses(connection, 2) == [200, 408]
        assert closed(connection)


def test_who_half_closes_after_whole_requests_gets_the_answers(server: Server) -> None:
    good = authorized("POST", INFER, infer(ROWS))
    with connected(server) as connection:
        connection.sendall(good * 2)
        connection.shutdown(socket.SHUT_WR)
        assert statuses(connection, 2) == [200, 200]
        assert closed(connection)


@pytest.mark.parametrize(
    "part",
    [b"GET /v2", request("POST", INFER, infer(ROWS), {"authorization": "Bearer secret"})[:-5]],
)
def test_what_a_half_closed_connection_has_in_part_is_left(server: Server, part: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(authorized("POST", INFER, infer(ROWS)) + part)
        connection.shutdown(socket.SHUT_WR)
        assert reply(connection).status == 200
        assert closed(connection)
    with connected(server) as connection:
        connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        assert closed(connection)


def test_refusals_of_what_is_no_request_are_logged_and_counted(server: Server) -> None:
    answer = exchanged(server.port, b"\x00\x01")
    assert answer.status == 400
    server.application.log.flush()
    line = next(
        line
        for line in map(json.loads, server.log.getvalue().splitlines())
        if line["request_id"] == answer.headers["x-request-id"]
    )
    assert (line["status"], line["path"], line["bytes"]) == (400, "unknown", len(answer.body))
    counted = exchanged(server.port, authorized("GET", "/metrics")).body
    assert b'topos_http_requests_total{model="",path="unknown",status="400"}' in counted


def test_whitespace_behind_the_value_of_a_header_is_none_of_it(server: Server) -> None:
    named = {"x-request-id": "abc \t", "inference-header-content-length": "0 "}
    answer = exchanged(
        server.port,
        request("POST", INFER, ROWS.tobytes(), {"authorization": "Bearer secret", **named}),
    )
    assert (answer.status, answer.headers["x-request-id"]) == (200, "abc")
