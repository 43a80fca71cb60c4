"""Numbers: the protocol's names of elements, and arrays read from JSON and written to it.

Each value that is read is the element's nearest, or the request is refused; what is written has the
fewest digits that are read back as the same element.
"""

from __future__ import annotations

import math
import re
import struct
from contextlib import suppress
from functools import cache
from typing import Any, Final, Literal

import ml_dtypes
import msgspec
import numpy as np
import numpy.typing as npt
import orjson

from topos.serving.errors import RequestError
from topos.serving.http.refusals import faulty

# The protocol's section "Tensor Data Types"; BF16 is Triton's. BYTES has no element here.
DATATYPES: Final[dict[str, np.dtype[Any]]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}

_NAMES: Final = {dtype: name for name, dtype in DATATYPES.items()}


def datatype(dtype: np.dtype[Any]) -> str:
    """Returns the protocol's name of an element; one that has none is told by numpy's."""
    return _NAMES.get(dtype) or str(dtype)


Array = npt.NDArray[Any]

# JSON has no spelling for these; protobuf's JSON mapping writes them as strings.
_Special = Literal["NaN", "Infinity", "-Infinity"]
_FLOATS: Final = ("f", "V")
_NESTED: Final = re.compile(rb"\[[ \t\r\n]*\[")
# Starts with its letters, so that `re` looks for those first.
_WHOLE_ZERO: Final = re.compile(rb"-0(?<![eE]-0)(?=[\],\s])")


def read_numbers(
    raw: msgspec.Raw, shape: tuple[int, ...], dtype: np.dtype[Any], field: str
) -> Array:
    """Returns the JSON array `raw`, flat in row-major order or nested as `shape`, as an array.

    A number of a floating-point element is read as a double and rounded to nearest, ties to even;
    one that would overflow is refused, as is any that an integer element does not have. `field`
    names the array in errors.
    """
    text = bytes(raw)
    nested = _NESTED.match(text) is not None
    needed = math.prod(shape)
    # A list takes far more memory than its text: what cannot fit is refused before it is built.
    commas = text.count(b",")
    if commas >= max(needed, 1):
        raise RequestError(field, f"has {commas + 1} values, shape {list(shape)} needs {needed}")
    if dtype.kind in _FLOATS and b"-0" in text:
        # Without a point it is an integer to the decoder, whose zero has no sign.
        text = _WHOLE_ZERO.sub(b"-0.0", text)
    values = _decoded(text, dtype.kind, len(shape) if nested else 1, field)
    array = _array(values, dtype, field)
    if nested and array.shape != shape:
        raise RequestError(field, f"is nested as {list(array.shape)}, shape is {list(shape)}")
    if array.size != needed:
        raise RequestError(field, f"has {array.size} values, shape {list(shape)} needs {needed}")
    return array.reshape(shape)


def _decoded(text: bytes, kind: str, depth: int, field: str) -> Any:
    try:
        return _decoder(kind, depth).decode(text)
    except msgspec.ValidationError as error:
        if kind not in _FLOATS or "got `str`" not in str(error):
            raise faulty(error, field) from error
    try:
        return _decoder("special", depth).decode(text)
    except msgspec.ValidationError as error:
        raise faulty(error, field) from error
    # Words are looked at here alone, so that what is no UTF-8 comes to light.
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestError(field, "has a word that is not UTF-8") from error


@cache
def _decoder(kind: str, depth: int) -> msgspec.json.Decoder[Any]:
    element: Any = {"b": bool, "i": int, "u": int, "special": float | _Special}.get(kind, float)
    for _ in range(depth):
        element = list[element]
    return msgspec.json.Decoder(element)


def _array(values: Any, dtype: np.dtype[Any], field: str) -> Array:
    if dtype.kind == "f":
        # In a third of numpy's time, and it raises where a number overflows, or for words and rows.
        with suppress(struct.error, OverflowError):
            packed = struct.pack(f"={len(values)}{dtype.char}", *values)
            return np.frombuffer(packed, dtype)
    wide = dtype if dtype.kind not in _FLOATS else np.dtype(np.float64)
    try:
        array = np.array(values, dtype=wide)
    except OverflowError as error:
        raise RequestError(field, f"has a number that {datatype(dtype)} does not have") from error
    except ValueError as error:
        raise RequestError(field, "is nested unevenly") from error
    return array if wide is dtype else _narrowed(array, dtype, field)


def _narrowed(wide: Array, dtype: np.dtype[Any], field: str) -> Array:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # ml_dtypes rounds a double twice, over a single; a single rounded to odd keeps what the
        # second rounding needs to know (Boldo and Melquiond, "When double rounding is odd").
        array = (_odd(wide) if dtype.kind == "V" else wide).astype(dtype)
        lost = np.isinf(array) & np.isfinite(wide)
    if lost.any():
        value = wide[lost][0]
        raise RequestError(field, f"has {float(value)!r}, which overflows {datatype(dtype)}")
    return array


def _odd(wide: Array) -> Array:
    single = wide.astype(np.float32)
    bits = single.view(np.uint32)
    away = np.abs(single.astype(np.float64)) > np.abs(wide)
    inexact = (single.astype(np.float64) != wide) & ~np.isnan(wide)
    bits -= away.astype(np.uint32)
    bits |= inexact.astype(np.uint32)
    return single


_SPECIAL: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def written_numbers(array: npt.NDArray[Any]) -> msgspec.Raw:
    """Returns the elements in row-major order as a JSON array.

    A floating-point element has the fewest digits that are read back as that element, or as its
    single where it has sixteen bits. NaN and the infinities, which JSON lacks, are the strings
    `NaN`, `Infinity` and `-Infinity` of protobuf's JSON mapping.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "V":
        flat = flat.astype(np.float32)
    text = orjson.dumps(flat, option=orjson.OPT_SERIALIZE_NUMPY)
    # This is written for all that JSON lacks.
    if b"null" not in text:
        return msgspec.Raw(text)
    values = orjson.loads(text)
    for place in np.flatnonzero(~np.isfinite(flat)).tolist():
        values[place] = _SPECIAL[str(flat[place])]
    return msgspec.Raw(orjson.dumps(values))
