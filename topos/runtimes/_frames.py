"""Frames: a header and arrays on a binary pipe, with nothing in them that a reader executes.

A frame is a mark, the header's length in eight bytes, the header as JSON, and the arrays' bytes
in order. The header's `arrays` holds the dtype and the shape of each.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from io import BufferedReader
from math import prod
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["FrameError", "receive", "send", "skip"]

Array = npt.NDArray[Any]

# The first byte stands in no UTF-8 text, so that nothing printed holds the mark.
MARK: Final = b"\xfftopos\x00\x01"
LENGTH: Final = struct.Struct("<Q")
# A frame that claims more is none.
LARGEST_HEADER: Final = 2**32
LARGEST_ARRAY: Final = 2**40
SHOWN: Final = 80


class FrameError(Exception):
    """Bytes that are no frame; the message shows how they begin."""


def send(stream: IO[bytes], header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
    """Writes one frame; every dtype must be one of numpy's own."""
    described = [[array.dtype.str, array.shape] for array in arrays]
    encoded = json.dumps({**header, "arrays": described}).encode()
    stream.write(MARK + LENGTH.pack(len(encoded)) + encoded)
    for array in arrays:
        stream.write(array.tobytes())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], list[Array]]:
    """Returns the next frame.

    Raises `EOFError` where the stream ends before it does, and `FrameError` where the stream
    holds something else.
    """
    mark = stream.read(len(MARK))
    if mark != MARK[: len(mark)]:
        raise _strange(mark + _ready(stream))
    if len(mark) < len(MARK):
        raise EOFError("the stream ended within a frame")
    return _marked(stream)


def skip(stream: IO[bytes], most: int) -> tuple[dict[str, Any], list[Array]]:
    """Returns the first frame after at most `most` bytes of anything else; raises as `receive`."""
    before = bytearray()
    while not before.endswith(MARK):
        byte = stream.read(1)
        if before and (not byte or len(before) >= most):
            raise _strange(bytes(before))
        if not byte:
            raise EOFError("the stream ended before a frame")
        before += byte
    return _marked(stream)


def _marked(stream: IO[bytes]) -> tuple[dict[str, Any], list[Array]]:
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size, LENGTH.size))
    encoded = _exactly(stream, length, LARGEST_HEADER)
    try:
        header = json.loads(encoded)
        described = [(np.dtype(code), tuple(shape)) for code, shape in header.pop("arrays")]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _strange(encoded) from None
    return header, [_array(stream, dtype, shape) for dtype, shape in described]


def _array(stream: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    # A bytearray gives an array that its receiver owns and may write to.
    size = prod(shape) * dtype.itemsize
    data = bytearray(_exactly(stream, size, LARGEST_ARRAY))
    return np.frombuffer(data, dtype).reshape(shape)


def _exactly(stream: IO[bytes], count: int, most: int) -> bytes:
    if not 0 <= count <= most:
        raise FrameError(f"a part of a frame needs 0 to {most} bytes, got {count}")
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("the stream ended within a frame")
    return data


def _ready(stream: IO[bytes]) -> bytes:
    # What came along already, without waiting for more.
    return stream.peek(SHOWN) if isinstance(stream, BufferedReader) else b""


def _strange(data: bytes) -> FrameError:
    return FrameError(f"a frame was due, and {data[:SHOWN]!r} came")
