"""Framing: however the bytes of requests arrive, they are cut at the same places."""

from __future__ import annotations

import pytest

from topos.serving.http.framing import Framing, UnreadableError

MOST = 500
FIELDS = b"host: a\r\n"
CHUNKED = b"POST / HTTP/1.1\r\n" + FIELDS + b"transfer-encoding: chunked\r\n\r\n"
UPGRADE = b"connection: Upgrade\r\nupgrade: h2c\r\n"
PLAIN, BODY = b"GET / HTTP/1.1\r\n" + FIELDS + b"\r\n", b"x\r\n\r\n" * 200

# What is sent for one request, and what the server gets of it.
MESSAGES = [
    (PLAIN, PLAIN),
    (b"\r\n\r\n" + PLAIN, PLAIN),
    (made := b"POST / HTTP/1.1\r\ncontent-length: 1000\r\n\r\n" + BODY, made),
    (made := b"POST / HTTP/1.1\r\ncontent-length: 0005\r\n\r\n" + BODY[:5], made),
    (made := CHUNKED + b"3e8\r\n" + BODY + b"\r\n1;a=b;c\r\nx\r\n0\r\n\r\n", made),
    (CHUNKED + b"1\r\nx\r\n000\r\na: b\r\nc:\r\n\r\n", CHUNKED + b"1\r\nx\r\n0\r\n\r\n"),
    (CHUNKED + b"0\r\na: b\r\n\r\n", CHUNKED + b"0\r\n\r\n"),
    (
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\n" + UPGRADE + b"\r\n" + BODY[:5],
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\nconnection: Upgrade\r\n\r\n" + BODY[:5],
    ),
]

UNREADABLE = [
    (PLAIN[:-2] + b"a: " + b"b" * MOST, 431, "headers: "),
    (CHUNKED + b"0\r\n" + b"a: b\r\n" * MOST, 431, "headers: "),
    (CHUNKED + b"0\r\n" + b"a: b\r\n" * MOST + b"\r\n", 431, "headers: "),
    (CHUNKED + b"1;" + b"a" * MOST, 431, "headers: "),
    (CHUNKED + b"0\r\nno field\r\n\r\n", 400, "trailers: "),
    (CHUNKED + b"0\r\na: b\n\r\n\r\n", 400, "trailers: "),
    *(
        (CHUNKED + chunk, 400, "body: ")
        for chunk in (
            b"x\r\n",
            b"\r\n",
            b"-1\r\n",
            b"1 \r\nx\r\n",
            b"1\r\nxy\r\n",
            b"1\r\nx\n0\r\n",
        )
    ),
    (CHUNKED + b"1" * 17 + b"\r\n", 400, "body: "),
    (b"CONNECT a:80 HTTP/1.1\r\n\r\n", 400, "method: "),
    (b"GET http://a HTTP/1.1\r\n\r\n", 400, "request: "),
    (b"GET / HTTP/1.1\nhost: a\n\n", 400, "request: "),
]


def given(parts: list[bytes]) -> list[bytes]:
    """What each request is given out as, of those that arrive in these parts."""
    framing, found = Framing(MOST), [b""]
    for part in parts:
        framing.arrive(part)
        while taken := framing.take():
            found[-1] += taken
            if not (framing.in_head or framing.in_body):
                framing.begin()
                found.append(b"")
    return found


def cut(sent: bytes) -> list[list[bytes]]:
    """The bytes in one part, in two, and one at a time."""
    places = range(0, len(sent), max(len(sent) // 100, 1))
    return [[sent[i : i + 1] for i in range(len(sent))], *([sent[:i], sent[i:]] for i in places)]


@pytest.mark.parametrize(("sent", "passed"), MESSAGES)
def test_a_request_is_cut_out_of_whatever_it_arrives_in(sent: bytes, passed: bytes) -> None:
    for parts in cut(PLAIN + sent + sent + PLAIN):
        assert given(parts) == [PLAIN, passed, passed, PLAIN, b""]


@pytest.mark.parametrize(("sent", "status", "reason"), UNREADABLE)
def test_what_cannot_be_read_is_refused_behind_what_can(
    sent: bytes, status: int, reason: str
) -> None:
    for parts in cut(PLAIN + sent):
        with pytest.raises(UnreadableError) as found:
            given(parts)
        assert (found.value.status, found.value.reason[: len(reason)]) == (status, reason)


def test_no_more_is_given_out_before_the_next_begins() -> None:
    framing = Framing(MOST)
    framing.arrive(PLAIN * 3)
    assert framing.take() == PLAIN
    assert framing.take() == b""
    assert framing.held == 2 * len(PLAIN)
