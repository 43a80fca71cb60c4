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

LIMITS = Limits(body_bytes=1000, buffered_bytes=1500, body_seconds=0.05)


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


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "GZIP"])
def test_a_compressed_body_is_decompressed(coding: str) -> None:
    packed = zlib.compress(b"some" * 200) if coding == "deflate" else gzip.compress(b"some" * 200)
    for size in (1, 7, len(packed)):
        parts = [packed[at : at + size] for at in range(0, len(packed), size)]
        assert read(chunks(*parts), content_encoding=coding) == b"some" * 200


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
        (b"no gzip", "body: does not decompress: "),
        (gzip.compress(b"cut", mtime=0)[:-3], "body: does not decompress: it ends too early"),
        (b"", "body: does not decompress: it ends too early"),
        (gzip.compress(b"one", mtime=0) + b"more", "body: has bytes after the compressed data"),
    ],
)
def test_damaged_compression_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(chunks(body), content_encoding="gzip")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("coding", ["br", "gzip, deflate", "\u00fc"])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(EncodingError, match=r"^Content-Encoding: needs gzip, deflate or identity"):
        read(chunks(b"x"), content_encoding=coding)


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
    with Body(bodies, {}) as first:
        asyncio.run(first.read(chunks(bytes(900))))
        assert bodies.held == 900
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
