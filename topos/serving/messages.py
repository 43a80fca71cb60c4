"""Messages between a session and its worker process: short, typed, and never executed.

A frame is the length of a message in four bytes and the message as msgpack. Arrays are not in
it: they lie in the arena that both sides map.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

from topos.serving.description import Description

LENGTH: Final = struct.Struct("<I")
# A frame that claims more is none.
LARGEST: Final = 16 * 2**20
SHOWN: Final = 80


class Origin(msgspec.Struct, frozen=True):
    """Where a model comes from and how it is compiled: the first frame a worker is sent."""

    path: str
    runtime: str
    numerics: str
    options: dict[str, Any]
    cache: str | None
    compiled: bool = False


class Call(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Asks for one run of the program at a position; its inputs stand in the arena.

    `alone` says that no other request is known: the next may follow this one's answer soon.
    """

    number: int
    program: int
    alone: bool = False


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Says that the bundle is loaded, verified and compiled."""

    description: Description


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Says why the bundle is not served: the class of an error of topos, and its message."""

    kind: str
    reason: str


class Answer(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Says that the call of that number has run: its results stand in the arena.

    `seconds` is what the runtime took.
    """

    number: int
    seconds: float = 0.0


class Failed(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Says that the runtime failed on the call of that number, and goes on."""

    number: int
    reason: str


WorkerMessage = Ready | Refused | Answer | Failed

_encoder: Final = msgspec.msgpack.Encoder()
_from_worker: Final = msgspec.msgpack.Decoder(WorkerMessage)
calls: Final = msgspec.msgpack.Decoder(Call)
"""Reads what a session asks for."""


class FrameError(Exception):
    """Bytes that are no frame; the message shows how they begin."""


def encode(message: msgspec.Struct) -> bytes:
    """Returns the frame of one message."""
    body = _encoder.encode(message)
    return LENGTH.pack(len(body)) + body


class Frames:
    """The frames of one stream, cut from whatever pieces it arrives in."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the bodies of the frames that end in `data`; raises `FrameError`."""
        # Nearly always one frame arrives by itself.
        rest = data[LENGTH.size :]
        if not self._data and data[: LENGTH.size] == LENGTH.pack(len(rest)):
            return [rest]
        self._data += data
        bodies = []
        while (body := self._cut()) is not None:
            bodies.append(body)
        return bodies

    def _cut(self) -> bytes | None:
        if len(self._data) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._data)
        if length > LARGEST:
            raise FrameError(f"a frame was due, and {bytes(self._data[:SHOWN])!r} came")
        end = LENGTH.size + length
        if len(self._data) < end:
            return None
        body = bytes(self._data[LENGTH.size : end])
        del self._data[:end]
        return body


def from_worker(body: bytes) -> WorkerMessage:
    """Returns what a worker says; raises `FrameError` for anything else."""
    try:
        return _from_worker.decode(body)
    except msgspec.DecodeError as error:
        raise FrameError(
            f"a worker's message was due, and {body[:SHOWN]!r} came: {error}"
        ) from None
