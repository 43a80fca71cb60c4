"""Sizes: what of a request is bounded before anything is built of it, and what is held for it."""

from __future__ import annotations

import gzip
import json
import socket
from contextlib import suppress

import numpy as np
import pytest

from tests.serving.serving_http import (
    INFER,
    ROWS,
    SECONDS,
    Server,
    ask,
    exchanged,
    infer,
    request,
    until,
)
from topos.serving import ModelPort, ModelStatus, RequestError, TooLargeError
from topos.serving.http import Limits
from topos.serving.http.request import read_inference

LIMITS = Limits(body_seconds=5, body_bytes=2**20, buffered_bytes=2**21)
# The most that Python makes an integer of.
LONGEST = "9" * 4299
PORT = ModelPort("x", (6,), np.dtype(np.float32))
MODEL = ModelStatus("m", "1", True, "", True, (1, 2), (PORT,), (PORT,), "interpreter", 0)


def text(rows: str = "1", data: str = "[1,2,3,4,5,6]", more: str = "") -> bytes:
    tensor = f'{{"name":"x","shape":[{rows},6],"datatype":"FP32","data":{data}}}'
    return f'{{"inputs":[{tensor}]{more}}}'.encode()


def read(body: bytes) -> None:
    read_inference(body, None, MODEL, 2**24, 64)


@pytest.mark.parametrize("rows", ["65", "5000000", LONGEST, "18446744073709551616"])
def test_more_rows_than_are_taken_are_refused_before_their_numbers(rows: str) -> None:
    # These data would be refused as what they are.
    with pytest.raises(
        TooLargeError, match=r"^inputs\[0\]\.shape: needs 64 rows at most, got "
    ) as found:
        read(text(rows, data="[[], []]"))
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("rows", [f"-{LONGEST}"[:4299], f"{LONGEST}99"])
def test_a_long_number_has_a_short_refusal(rows: str) -> None:
    with pytest.raises(RequestError) as found:
        read(text(rows))
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    "more",
    [
        ',"parameters":{' + ",".join(f'"p{n}":1' for n in range(3_000)) + "}",
        ',"outputs":[' + ",".join('{"name":"y"}' for _ in range(3_000)) + "]",
    ],
)
def test_more_fields_than_any_request_has_are_refused(more: str) -> None:
    with pytest.raises(RequestError, match=r"^body: has more than 2048 fields"):
        read(text(more=more))


def test_an_identifier_is_short() -> None:
    read(text(more=f',"id":"{"x" * 256}"'))
    with pytest.raises(RequestError, match=r"^id: has 257 characters, at most 256 are taken"):
        read(text(more=f',"id":"{"x" * 257}"'))


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b'{"parameters":{"a":"' + b"x" * 5_000 + b'"}}', 413, "body: has 5023 bytes, at most"),
        (b'{"parameters":{"a":' + b"[" * 2_000, 400, "body: is nested too deeply"),
    ],
)
def test_the_repository_reads_little(server: Server, body: bytes, status: int, reason: str) -> None:
    answer = ask(server, "/v2/repository/index", body)
    assert (answer.status, answer.error.startswith(reason)) == (status, True), answer.error


def test_a_length_of_nothing_but_zeros_is_refused(server: Server) -> None:
    sent = request("POST", INFER, headers={"content-length": "0" * 5_000})
    answer = exchanged(server.port, sent)
    assert (answer.status, answer.error) == (400, "Content-Length: has 5000 digits")


def test_a_deadline_beyond_the_longest_is_refused_with_that(server: Server) -> None:
    for seconds in ("301", "123456789"):
        answer = ask(server, INFER, infer(ROWS), x_request_timeout=seconds)
        assert answer.error == "X-Request-Timeout: needs 300 seconds at most"
    assert ask(server, INFER, infer(ROWS), x_request_timeout="300").status == 200


def test_what_http_refuses_counts_as_failed(server: Server) -> None:
    before = _failed(server)
    assert ask(server, INFER, b"{}").status == 400
    assert ask(server, INFER, infer(ROWS), content_encoding="br").status == 415
    assert ask(server, INFER, infer(ROWS)).status == 200
    assert _failed(server) == before + 2


def _failed(server: Server) -> int:
    (stats,) = json.loads(ask(server, "/v2/models/mlp/stats").body)["model_stats"]
    assert "queue" not in stats["inference_stats"]
    assert set(stats["inference_stats"]["fail"]) == {"count"}
    return int(stats["inference_stats"]["fail"]["count"])


def test_answers_that_nobody_reads_are_held_against_the_limit(server: Server) -> None:
    bodies = server.application.bodies
    left = memoryview(request("GET", "/") * 1_000)

    def piled_up() -> bool:
        nonlocal left
        with suppress(BlockingIOError):
            left = left[deaf.send(left) :]
        return bodies.held >= 2**16

    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as deaf:
        deaf.setblocking(False)
        # These requests have no bodies that could be held.
        until(piled_up)
        # Compressed and decompressed, all that is left of the limit, and then some.
        text = infer(ROWS, padding="x" * (LIMITS.body_bytes - 2**15 - len(infer(ROWS))))
        large = gzip.compress(text, compresslevel=0)
        assert ask(server, INFER, large, content_encoding="gzip").status == 503
    until(lambda: not bodies.held)
    assert ask(server, INFER, large, content_encoding="gzip").status == 200
