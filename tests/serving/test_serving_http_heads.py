"""Heads: what does not arrive, is too long or is no HTTP is refused and closed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.serving.serving_http import (
    INFER,
    LIVE,
    ROWS,
    Server,
    apart,
    closed,
    connected,
    exchanged,
    infer,
    reply,
    request,
)
from topos.serving.http import Limits

LIMITS = Limits(head_bytes=8_000, head_seconds=0.4, connections=12)
pytestmark = pytest.mark.usefixtures("still_serves")


@pytest.mark.parametrize("start", [b"", b"\r\n\r\n", b"POST", b"POST / HTTP/1.1\r\nhost: x\r\n"])
def test_a_head_that_stalls_is_refused_and_the_connection_closed(
    server: Server, start: bytes
) -> None:
    with connected(server) as connection:
        connection.sendall(start)
        assert reply(connection).status == 408
        assert closed(connection)


def test_a_head_that_stalls_later_on_a_connection_is_refused(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(LIVE + b"GET /v2")
        assert reply(connection).status == 200
        assert reply(connection).status == 408
        assert closed(connection)


def test_a_head_behind_other_requests_is_counted_by_itself(server: Server) -> None:
    sent = request("GET", "/v2/health/live", headers={"long": "y" * 500})
    count = 2 * LIMITS.head_bytes // len(sent)
    with connected(server) as connection:
        apart(connection, sent * count + sent[:20], sent[20:30], sent[30:])
        with connection.makefile("rb") as stream:
            answered = 0
            while answered <= count:
                answered += b"HTTP/1.1 200 " in stream.readline()


@pytest.mark.parametrize("before", [b"\r\n", LIVE])
@pytest.mark.parametrize(("size", "status"), [(7_900, 200), (8_100, 431)])
def test_a_head_that_begins_behind_something_has_its_limit(
    server: Server, before: bytes, size: int, status: int
) -> None:
    head = request("GET", "/v2/health/live", headers={"long": "y" * (size - 80)})
    with connected(server) as connection:
        for sent in (before, before + head[:-1]):
            apart(connection, sent)
            # Read at once: two answers may arrive together otherwise.
            if before != b"\r\n":
                assert reply(connection).status == 200
        connection.sendall(head[-1:])
        assert reply(connection).status == status


def test_a_head_behind_a_long_body_is_counted_by_itself(server: Server) -> None:
    body, sent = infer(np.ones((700, 6), np.float32)), LIVE
    head = request("POST", INFER, body)[: -len(body)]
    with connected(server) as connection:
        apart(connection, head, body + sent[:20], sent[20:30])
        assert reply(connection).status == 200
        connection.sendall(sent[30:])
        assert reply(connection).status == 200


def test_an_empty_line_before_a_head_gives_it_no_more_time(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(LIVE)
        assert reply(connection).status == 200
        apart(connection, b"\r\n", b"POST /")
        # An idle connection is closed without an answer, and far later.
        assert reply(connection).status == 408


def test_a_head_beyond_the_limit_is_refused_where_it_arrives_at_once(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(b"GET /v2 HTTP/1.1\r\nhost: x\r\nlong: " + b"y" * 9_000 + b"\r\n\r\n")
        assert reply(connection).status == 431
        assert closed(connection)


def test_a_head_is_not_taken_for_its_body(server: Server) -> None:
    body = infer(np.ones((700, 6), np.float32))
    assert len(body) > LIMITS.head_bytes
    assert exchanged(server.port, request("POST", INFER, body)).status == 200


def test_a_head_beyond_the_limit_is_refused(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 2_000)
        assert reply(connection).status == 431
        assert closed(connection)


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        (b"no http at all\r\n\r\n", "method"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "method"),
        (b"CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n", "method"),
        (b"POST / HTTP/1.1\r\ncontent-length: -5\r\n\r\n", "Content-Length"),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", "Content-Length"),
        (
            b"POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
            "Content-Length",
        ),
        (
            b"POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            "Transfer-Encoding",
        ),
        (
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n",
            "Content-Length",
        ),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", "Transfer-Encoding"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: xchunked\r\n\r\n", "Transfer-Encoding"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked, gzip\r\n\r\n", "Transfer-Encoding"),
        (b"GET / HTTP/1.1\r\n\r\n", "Host"),
        (b"GET /v2/health/live HTTP/1.1\r\na: b\r\n\r\n", "Host"),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", "Host"),
        (b"GET / HTTP/1.0\r\nhost: a\r\nHost: b\r\n\r\n", "Host"),
        (b"GET / HTTP/1.1\r\nhost: a, b\r\n\r\n", "Host"),
        (b"GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", "Host"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "body"),
        (b"GET / HTTP/1.1\r\nname with space: x\r\n\r\n", "headers"),
        (b"GET / HTTP/9.9\r\n\r\n", "request"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", "path"),
    ],
)
def test_what_is_no_http_is_refused_with_the_part_at_fault(
    server: Server, sent: bytes, named: str
) -> None:
    answer = exchanged(server.port, sent)
    assert (answer.status, answer.error.partition(": ")[0]) == (400, named)


@pytest.mark.parametrize(
    ("coding", "version", "status"),
    [
        ("gzip, chunked", "1.1", 501),
        ("chunked, chunked", "1.1", 400),
        ("gzip\r\ntransfer-encoding: chunked", "1.1", 501),
        ("chunked\r\ntransfer-encoding: identity", "1.1", 400),
        ("identity", "1.1", 400),
        ("\tchunked;a=b", "1.1", 400),
        ("chunked", "1.0", 501),
        (" Chunked ", "1.1", 200),
    ],
)
@pytest.mark.parametrize("path", [INFER, "/v2/repository/index"])
def test_a_body_of_an_unknown_transfer_coding_hides_no_request(
    server: Server, path: str, coding: str, version: str, status: int
) -> None:
    body = infer(ROWS)
    head = f"POST {path} HTTP/{version}\r\nhost: a\r\ntransfer-encoding: {coding}\r\n\r\n"
    sent = head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with connected(server) as connection:
        connection.sendall(sent + LIVE)
        answer = reply(connection)
        assert answer.status == status
        if status != 200:
            assert answer.error.startswith("Transfer-Encoding: ")
            assert closed(connection)


def test_connections_beyond_the_limit_are_refused(server: Server) -> None:
    connections = [connected(server) for _ in range(LIMITS.connections)]
    try:
        # The kernel connects before the server knows, and the server takes them in order.
        connections[-1].sendall(LIVE)
        assert reply(connections[-1]).status == 200
        with connected(server) as connection:
            answer = reply(connection)
            assert answer.status == 503
            assert closed(connection)
    finally:
        for each in connections:
            each.close()


def test_a_request_of_http_1_0_is_answered_and_closed(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(b"GET /v2/health/live HTTP/1.0\r\n\r\n")
        answer = reply(connection)
        assert json.loads(answer.body) == {"live": True}
        assert closed(connection)
