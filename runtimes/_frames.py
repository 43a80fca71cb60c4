"""Frames: a header and arrays on a binary pipe, with nothing in them that a reader executes.

A frame is the header's length in eight bytes, the header as JSON, and the arrays' bytes in order.
The header's `arrays` holds the dtype and the shape of each.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from math import prod
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["receive", "send"]

Array = npt.NDArray[Any]

_LENGTH: Final = struct.Struct("<Q")


def send(stream: IO[bytes], header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
    """Writes one frame; every dtype must be one of numpy's own."""
    described = [[array.dtype.str, array.shape] for array in arrays]
    encoded = json.dumps({**header, "arrays": described}).encode()
    stream.write(_LENGTH.pack(len(encoded)) + encoded)
    for array in arrays:
        stream.write(array.tobytes())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], list[Array]]:
    """Returns the next frame; raises `EOFError` where the stream ends before it does."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    header = json.loads(_exactly(stream, length))
    arrays = [_array(stream, np.dtype(code), shape) for code, shape in header.pop("arrays")]
    return header, arrays


def _array(stream: IO[bytes], dtype: np.dtype[Any], shape: list[int]) -> Array:
    # A bytearray gives an array that its receiver owns and may write to.
    data = bytearray(_exactly(stream, prod(shape) * dtype.itemsize))
    return np.frombuffer(data, dtype).reshape(shape)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("the stream ended within a frame")
    return data
