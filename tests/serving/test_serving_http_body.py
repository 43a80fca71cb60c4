"""Bodies: received within limits of size, time and memory, compressed or not."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from topos.serving import RequestError, ServingError, TooLargeError
from topos.serving.http.body import Bodies, Body
from topos.serving.http.limits import Limits
from topos.serving.http.refusals import (
    BodyTimeoutError,
    ClientGoneError,
    EncodingError,
    OverloadedError,
)

LIMITS = Limits(body_bytes=1000, buffered_bytes=2000, body_seconds=0.05)


def chunks(*parts: bytes, gone: bool = False) -> Any:
    """What a server hands over for a body that arrives in these parts."""
    messages: Iterator[dict[str, Any]] = iter(
        {"type": "http.request", "body": part, "more_body": gone or place < len(parts) - 1}
        for place, part in enumerate(parts)
    )

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    return receive


def read(receive: Any, bodies: Bodies | None = None, **headers: str) -> bytes | bytearray:
    bodies = bodies or Bodies(LIMITS)
    sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    with Body(bodies, sent) as body:
        return asyncio.run(body.read(receive))


def test_a_body_arrives_whole_and_in_parts() -> None:
    assert read(chunks(b"whole")) == b"whole"
    assert read(chunks(b"in", b" ", b"parts")) == b"in parts"
    assert read(chunks(b"")) == b""


def test_a_declared_length_beyond_the_limit_is_refused_unread() -> None:
    async def receive() -> Any:
        raise AssertionError("the body was read")

    with pytest.raises(TooLargeError, match=r"^body: has 1001 bytes, at most 1000 are taken"):
        read(receive, content_length="1001")


def test_an_undeclared_length_beyond_the_limit_is_refused() -> None:
    read(chunks(bytes(600), bytes(400)))
    with pytest.raises(TooLargeError, match=r"^body: is longer than 1000 bytes"):
        read(chunks(bytes(600), bytes(401), bytes(10**9)))
    with pytest.raises(TooLargeError, match=r"^body: is longer than 1000 bytes"):
        read(chunks(bytes(1001)))


SOME = b"some" * 200
# Without the time, for a test's name has the bytes, and each process has to give it the same.
ONE, HALF, EMPTY = (gzip.compress(part, mtime=0) for part in (SOME, SOME[:400], b""))
FORMS: list[tuple[str, bytes, bytes]] = [
    *((coding, ONE, SOME) for coding in ("gzip", "x-gzip", "GZIP", " gzip\t", "identity, gzip,")),
    ("gzip", HALF + EMPTY + HALF + EMPTY, SOME),
    ("gzip", EMPTY, b""),
    ("deflate", zlib.compress(SOME), SOME),
    ("deflate", zlib.compress(SOME, wbits=-15), SOME),
    ("deflate", zlib.compress(b"", wbits=-15), b""),
    *((coding, SOME, SOME) for coding in ("identity", "", "identity, identity", "Identity")),
]


@pytest.mark.parametrize(("coding", "packed", "body"), FORMS)
def test_a_compressed_body_is_decompressed(coding: str, packed: bytes, body: bytes) -> None:
    for size in (1, 7, len(packed)):
        parts = [packed[at : at + size] for at in range(0, len(packed), size)]
        assert read(chunks(*parts), content_encoding=coding) == body


def test_a_body_of_many_members_is_read_and_one_of_nothing_else_is_refused() -> None:
    bodies, count = Bodies(Limits(body_bytes=2**21)), 2**16
    part = gzip.compress(b"x" * 20, mtime=0)
    assert len(read(chunks(part * 5_000), bodies, content_encoding="gzip")) == 100_000
    with pytest.raises(RequestError, match=r"^body: has more than 65536 members$"):
        read(chunks(EMPTY * (count + 1)), bodies, content_encoding="gzip")


@pytest.mark.parametrize("window", [31, 15, -15])
def test_what_is_larger_than_a_step_is_decompressed_whole(window: int) -> None:
    # Sizes at which the last step is full, and a repetition reaches over its end.
    for size in (2**20 - 1, 2**20, 2**20 + 100, 2**21):
        packed = zlib.compress(bytes(size), wbits=window)
        coding = "gzip" if window == 31 else "deflate"
        bodies = Bodies(Limits(body_bytes=2**22))
        assert read(chunks(packed), bodies, content_encoding=coding) == bytes(size)


def test_a_bomb_is_refused_at_the_limit() -> None:
    bodies = Bodies(Limits(body_bytes=2**20))
    bomb = gzip.compress(bytes(2**26), compresslevel=9)
    assert len(bomb) < 2**17
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match=r"^body: is longer than 1048576 bytes"):
            read(chunks(bomb), bodies, content_encoding="gzip")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**23
    exact = gzip.compress(bytes(2**20))
    assert read(chunks(exact), bodies, content_encoding="gzip") == bytes(2**20)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"no gzip", "body: is not gzip, though Content-Encoding says so"),
        (b'{"inputs": []}', "body: is not gzip, though Content-Encoding says so"),
        (b"\x1f", "body: does not decompress: it ends too early"),
        (gzip.compress(b"cut", mtime=0)[:-3], "body: does not decompress: it ends too early"),
        (b"", "body: is empty, though Content-Encoding says gzip"),
        (ONE + b"more", "body: has bytes after the compressed data"),
        (ONE + b"\x1f", "body: has bytes after the compressed data"),
        (ONE + b"\x1f\x8bmore", "body: does not decompress: it is damaged"),
        (ONE + EMPTY[:-1], "body: does not decompress: it ends too early"),
        (ONE[:-8] + bytes(8), "body: does not decompress: it is damaged"),
    ],
)
def test_damaged_compression_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(chunks(body), content_encoding="gzip")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("coding", ["br", "gzip, deflate", "gzip, gzip", "\u00fc"])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(EncodingError, match=r"^Content-Encoding: needs gzip, deflate or identity"):
        read(chunks(b"x"), content_encoding=coding)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"no deflate here", "is not valid deflate, though Content-Encoding says so"),
        (b'{"inputs": []}', "is not valid deflate, though Content-Encoding says so"),
        (zlib.compress(SOME)[:-3], "does not decompress: it ends too early"),
        (zlib.compress(SOME)[:-4] + bytes(4), "does not decompress: it is damaged"),
        (b"", "is empty, though Content-Encoding says deflate"),
    ],
)
def test_damaged_deflate_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestError, match=f"^body: {reason}$"):
        read(chunks(body), content_encoding="deflate")


def test_bytes_behind_a_deflated_body_are_refused() -> None:
    for window in (15, -15):
        packed = zlib.compress(SOME, wbits=window)
        for more in (b"x", packed):
            with pytest.raises(RequestError, match=r"^body: has bytes after the compressed data$"):
                read(chunks(packed + more), content_encoding="deflate")


def test_a_slow_body_is_refused() -> None:
    async def receive() -> Any:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(BodyTimeoutError, match=r"did not arrive within 0.05 seconds"):
        read(receive)


def test_a_client_that_leaves_is_told_apart() -> None:
    with pytest.raises(ClientGoneError):
        read(chunks(b"half", gone=True))


def test_bodies_held_at_once_are_bounded_together() -> None:
    bodies = Bodies(LIMITS)
    with Body(bodies, {}) as first, Body(bodies, {}) as second:
        for each, size in ((first, 900), (second, 500)):
            asyncio.run(each.read(chunks(bytes(size))))
        assert bodies.held == 1400
        with pytest.raises(OverloadedError):
            read(chunks(bytes(601)), bodies)
        assert len(read(chunks(bytes(600)), bodies)) == 600
    assert bodies.held == 0


@pytest.mark.parametrize("parts", [(bytes(1001),), (bytes(600), bytes(600)), (b"x",)])
def test_what_a_refused_body_held_is_given_back(parts: tuple[bytes, ...]) -> None:
    bodies = Bodies(LIMITS)
    with pytest.raises(ServingError):
        read(chunks(*parts, gone=True), bodies)
    assert bodies.held == 0
