"""Requests that are not well formed, each with what its answer must say: a list, and mutations."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from serving_wire import HEADER, message

__all__ = ["INFER", "Malformed", "listed", "mutated"]

INFER: Final = "/v2/models/digits/infer"
SIZE: Final = 64
DEEP: Final = 100_000
LATEST: Final = 499
TOKENS: Final = (
    *("[", "]", "{", "}", ",", ":", '"', "null", "true", "-", "1e999", "NaN", "\\u0000", "\x00"),
    *("9" * 400, '"inputs"', '"shape"', '"data"', '"parameters":{"binary_data_size":8},', "0.5"),
)
Whole = dict[str, Any]


class Malformed(NamedTuple):
    """A message, the field that the error has to name, and the status, where it is only one."""

    name: str
    message: bytes
    field: str
    status: int | None = None

    def fault(self, status: int, body: bytes) -> str:
        """Returns what is wrong with an answer, or nothing."""
        if status not in ((self.status,) if self.status else range(400, LATEST + 1)):
            return f"{self.status or '4xx'} was due, got {status} {body[:120]!r}"
        try:
            error = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            return f"an error in JSON was due, got {body[:120]!r}"
        return "" if self.field in error else f"{self.field!r} was to be named, got {error[:160]!r}"


def listed(headers: Mapping[str, str], limit: int) -> list[Malformed]:
    """Returns the list; `headers` go with every request, `limit` is the longest body in bytes."""
    cases = [*_texts(headers), *_tensors(headers), *_heads(headers), *_oversized(headers, limit)]
    return [*cases, *_no_http()]


def mutated(headers: Mapping[str, str], source: random.Random) -> Malformed:
    """Returns a request whose text was cut, doubled, or struck in some places.

    The text may come out well formed, for example where a digit became another digit.
    """
    text = json.dumps(_whole())
    for _ in range(source.choice((1, 1, 2, 5))):
        place, length = source.randrange(len(text)), source.choice((1, 1, 4, 40))
        inserted = source.choice((*TOKENS, "", text[place : place + length]))
        text = text[:place] + inserted + text[place + source.choice((0, 1, length)) :]
    body = text.encode()
    if source.random() < 0.2:
        place = source.randrange(len(body) or 1)
        body = body[:place] + bytes([source.randrange(256)]) + body[place + 1 :]
    return Malformed("mutated", message(INFER, headers, body), "")


def _whole(**changes: Any) -> Whole:
    """Returns a well-formed request of one row, its input changed; None leaves an entry out."""
    tensor: Whole = {
        "name": "images",
        "shape": [1, 1, 8, 8],
        "datatype": "FP32",
        "data": [0.5] * SIZE,
    }
    tensor |= changes
    return {"inputs": [{name: value for name, value in tensor.items() if value is not None}]}


def _texts(headers: Mapping[str, str]) -> Iterator[Malformed]:
    """Yields bodies that are no request whatever the model."""
    texts = {
        "nothing": b"",
        "half": b'{"inputs": [',
        "a list": b"[]",
        "null": b"null",
        "a string": b'"inputs"',
        "not UTF-8": b'{"id": "\xff\xfe", "inputs": []}',
        "nested deeply": b"[" * DEEP,
        "nested deeply inside": b'{"inputs": ' + b"[" * DEEP,
        "bytes after the end": json.dumps(_whole()).encode() + b"x",
        "NaN": json.dumps({"id": float("nan"), **_whole()}).encode(),
        "-NaN": json.dumps(_whole()).encode().replace(b"0.5", b"-NaN", 1),
        "a byte order mark": b"\xef\xbb\xbf" + json.dumps(_whole()).encode(),
    }
    for name, text in texts.items():
        field = "inputs" if name == "nested deeply inside" else "body"
        yield Malformed(name, message(INFER, headers, text), field, 400)
    for name, asked, field in _requests():
        body = json.dumps(asked).encode()
        yield Malformed(name, message(INFER, headers, body), field, 400)


def _requests() -> Iterator[tuple[str, Whole, str]]:
    """Yields JSON that does not fit the protocol or the model, with the field at fault."""
    whole, tensor = _whole(), _whole()["inputs"][0]
    yield "no inputs", {}, "inputs"
    yield "inputs is a number", {"inputs": 5}, "inputs"
    yield "inputs is empty", {"inputs": []}, "inputs"
    yield "an input is empty", {"inputs": [{}]}, "inputs[0]"
    yield "an input twice", {"inputs": [tensor, tensor]}, "inputs[1].name"
    yield "an unknown output", whole | {"outputs": [{"name": "nothing"}]}, "outputs[0].name"
    twice = [{"name": "scores"}, {"name": "scores"}]
    yield "an output twice", whole | {"outputs": twice}, "outputs[1].name"
    yield "outputs is a text", whole | {"outputs": "scores"}, "outputs"
    yield "the id is a number", whole | {"id": 7}, "id"
    for name, value in {
        "timeout": -1,
        "binary_data_output": "yes",
        "sequence_id": 4,
    }.items():
        yield f"{name} {value}", whole | {"parameters": {name: value}}, f"parameters.{name}"
    shared = {"shared_memory_region": "any"}
    yield "shared memory", _whole(data=None, parameters=shared), "inputs[0].parameters"
    classes = [{"name": "scores", "parameters": {"classification": 3}}]
    yield "classification", whole | {"outputs": classes}, "outputs[0].parameters.classification"


def _tensors(headers: Mapping[str, str]) -> Iterator[Malformed]:
    """Yields inputs that do not fit: each a field, and values that it cannot have."""
    values: dict[str, tuple[Any, ...]] = {
        "name": (None, 5, "", "labels", "../images", "i" * 5000),
        "datatype": (None, 5, "", "FP64", "BYTES", "float32", "INT32"),
        "shape": (
            *(None, 5, [], [64], [1, 64], [1, 1, 8], [0, 1, 8, 8], [-1, 1, 8, 8], [1, 1, 8, 9]),
            *([2, 1, 8, 8], [10**30, 1, 8, 8], [2**62, 1, 8, 8], [1.5, 1, 8, 8], ["1", 1, 8, 8]),
            *([1] * 5000, [True, 1, 8, 8]),
        ),
        "data": (
            *(None, 5, [], [0.5] * 63, [0.5] * 65, ["a"] * 64, [None] * 64, [1e39] * 64),
            *([[0.5] * 64] * 2, [[0.5] * 63, [0.5]], [True] * 64, {"0": 1}, [{}] * 64, [[]] * 64),
        ),
    }
    for field, those in values.items():
        for value in those:
            body = json.dumps(_whole(**{field: value})).encode()
            # A shape of more rows is found by its data.
            named = "inputs[0]" if field == "shape" else f"inputs[0].{field}"
            named = "inputs[0]" if value is None else named
            name = f"{field} {str(value)[:30]}"
            yield Malformed(name, message(INFER, headers, body), named)
    for size in (-1, 0, 255, 257, 2**70, "256", 256.0, True):
        asked = _whole(data=None, parameters={"binary_data_size": size})
        text = json.dumps(asked).encode()
        body = message(INFER, {**headers, HEADER: str(len(text))}, text + bytes(256))
        yield Malformed(f"binary_data_size {size}", body, "inputs[0].parameters", 400)


def _heads(headers: Mapping[str, str]) -> Iterator[Malformed]:
    """Yields paths, methods and headers that lead nowhere."""
    body = json.dumps(_whole()).encode()
    sent: list[tuple[str, str, int]] = [
        (HEADER, "many", 400),
        (HEADER, "-1", 400),
        (HEADER, "99999999", 400),
        (HEADER, "5", 400),
        ("x-request-timeout", "soon", 400),
        ("x-request-timeout", "0", 400),
        ("x-request-timeout", "-1", 400),
        ("content-encoding", "br", 415),
        ("content-encoding", "gzip", 400),
        ("authorization", "Bearer wrong", 401),
    ]
    for name, value, status in sent:
        field = name.title() if status != 400 or name != "content-encoding" else "body"
        # Five bytes are the beginning of the JSON, which is no JSON then.
        field = "body" if value == "5" else field
        made = message(INFER, {**headers, name: value}, body)
        yield Malformed(f"{name}: {value}", made, field.replace("X-R", "X-R"), status)
    for path, status, field in [
        ("/v2/models/nothing/infer", 404, "nothing"),
        ("/v2/models/digits/versions/0/infer", 404, "version"),
        ("/v2/models/../../../etc/passwd/infer", 404, "path"),
        ("/v2/models/%2e%2e%2fdigits/infer", 404, ""),
        ("/v2/repository/models/digits/unload", 403, "unload"),
        ("/nothing", 404, "path"),
        ("/v2/health/live", 405, "method"),
    ]:
        yield Malformed(path, message(path, headers, body), field, status)
    for method in ("GET", "PUT", "DELETE"):
        made = message(INFER, headers, b"", method=method)
        yield Malformed(f"{method} of an inference", made, "method", 405)


def _oversized(headers: Mapping[str, str], limit: int) -> Iterator[Malformed]:
    """Yields bodies that are too long as they are sent, or as they unfold."""
    yield Malformed("too long", message(INFER, headers, bytes(limit + 1)), "body", 413)
    bomb = gzip.compress(bytes(64 * limit))
    coded = {**headers, "content-encoding": "gzip"}
    yield Malformed("a bomb", message(INFER, coded, bomb), "body", 413)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {INFER} HTTP/1.1\r\nhost: localhost\r\n{lines}"
    chunk = b"%x\r\n%s\r\n" % (limit, bytes(limit))
    chunked = f"{head}transfer-encoding: chunked\r\n\r\n".encode()
    yield Malformed("too long in chunks", chunked + chunk * 2 + b"0\r\n\r\n", "body", 413)
    long = f"{head}x-long: {'a' * 2**17}\r\n\r\n".encode()
    yield Malformed("a long header", long, "headers", 431)
    many = {"name": "images", "shape": [4096, 1, 8, 8], "datatype": "FP32"}
    made = {"inputs": [many | {"parameters": {"binary_data_size": 4096 * 256}}]}
    text = json.dumps(made).encode()
    rows = message(INFER, {**headers, HEADER: str(len(text))}, text)
    yield Malformed("rows that are not there", rows, "inputs[0]", 413)


def _no_http() -> Iterator[Malformed]:
    """Yields bytes that are no HTTP, which are answered before the connection is closed."""
    for text in (
        b"HELLO\r\n\r\n",
        b"GET /v2 HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nhost: a\r\ncontent-length: many\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /v2 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n",
        b"GET /v2 HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /v2 HTTP/1.1\r\n\r\n",
        b"GET /v2 HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    ):
        yield Malformed(f"no HTTP: {text[:40]!r}", text, "")
    coded = b"POST /v2 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    yield Malformed("a coded transfer", coded, "Transfer-Encoding", 501)
