"""Answers: what goes back for one request, an error among them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from topos.serving.errors import BusyError, DrainingError, ServingError
from topos.serving.http.refusals import (
    BodyTimeoutError,
    MethodError,
    OverloadedError,
    TransferError,
    UnauthorizedError,
)

_JSON: Final = (b"content-type", b"application/json")
_ENCODER: Final = msgspec.json.Encoder()
_CODINGS: Final = {b"gzip": 31, b"deflate": 15}


@dataclass(slots=True)
class Answer:
    """A status, a body, and headers but for the body's length."""

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=lambda: [_JSON])


def json_answer(value: object, status: int = 200) -> Answer:
    """Returns a value as JSON."""
    return Answer(status, _ENCODER.encode(value))


def refusal(error: ServingError) -> Answer:
    """Returns the answer that tells of an error; its text starts with the field at fault."""
    answer = json_answer({"error": str(error)}, error.status)
    match error:
        case BusyError() | OverloadedError():
            # The header takes whole seconds; rounding down would have the client come too early.
            seconds = max(1, math.ceil(error.retry_after))
            answer.headers.append((b"retry-after", str(seconds).encode()))
        case MethodError():
            answer.headers.append((b"allow", error.allowed.encode()))
        case UnauthorizedError():
            answer.headers.append((b"www-authenticate", b"Bearer"))
        case DrainingError():
            # Another server may take the request, and so may the next one at this address.
            answer.headers += [(b"retry-after", b"1"), (b"connection", b"close")]
        case BodyTimeoutError() | TransferError():
            answer.headers.append((b"connection", b"close"))
    return answer


def wanted_coding(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Returns the coding that a client asks for by naming it alone, if it is one of ours.

    A list of codings is what browsers and most libraries send with every request; tensors gain
    little from it and everyone would pay, so it gets the answer as it is.
    """
    accepted = headers.get(b"accept-encoding")
    if accepted is None:
        return None
    coding = accepted.strip().lower()
    return coding if coding in _CODINGS else None


def compressed(answer: Answer, coding: bytes) -> Answer:
    """Returns the answer in that coding."""
    compressor = zlib.compressobj(level=1, wbits=_CODINGS[coding])
    body = compressor.compress(answer.body) + compressor.flush()
    headers = [*answer.headers, (b"content-encoding", coding), (b"vary", b"accept-encoding")]
    return Answer(answer.status, body, headers)
