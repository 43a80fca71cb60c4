"""Inputs: the tensors of a request, from JSON or from the binary data after it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from topos.serving.description import Description
from topos.serving.errors import RequestError, TooLargeError
from topos.serving.http.numbers import DATATYPES, datatype, read_numbers
from topos.serving.status import ModelPort, ModelStatus

Array = npt.NDArray[Any]
Served = Description | ModelStatus
Parameters = dict[str, bool | int | float | str | None]

# What Triton's clients may ask for and what would change the answer, were it left out silently.
_UNSERVED: Final = {
    "sequence_id": "needs a model with state, which is not served",
    "classification": "is not served, take the output itself",
    "shared_memory_region": "is not served, send the data in the body",
}


class Input(msgspec.Struct, gc=False):
    """An input as it stands in the request's JSON."""

    name: str
    shape: list[int]
    datatype: str
    data: msgspec.Raw = msgspec.Raw()
    parameters: Parameters | None = None


def read_inputs(
    inputs: Sequence[Input], binary: memoryview, model: Served, most_rows: int | None = None
) -> tuple[dict[str, Array], int]:
    """Returns the arrays of all inputs of a model, and their rows.

    `binary` is what follows the JSON; it is used up, or the request is refused. More rows than
    `most_rows` are refused before their data are looked at.
    """
    ports = {port.name: port for port in model.inputs}
    arrays: dict[str, Array] = {}
    rows, offset = 0, 0
    for place, sent in enumerate(inputs):
        field = f"inputs[{place}]"
        port = ports.get(sent.name)
        if port is None:
            raise RequestError(f"{field}.name", unknown(sent.name, tuple(ports), model.name))
        if sent.name in arrays:
            raise RequestError(f"{field}.name", f"{shown(sent.name)} is given twice")
        shape = _shape(sent, port, model.batched, field)
        if model.batched and most_rows is not None and shape[0] > most_rows:
            reason = f"needs {most_rows} rows at most, got {shown(shape[0])}"
            raise TooLargeError(f"{field}.shape", reason)
        if model.batched and rows not in (0, shape[0]):
            reason = f"has {shape[0]} for rows, the inputs before it have {rows}"
            raise RequestError(f"{field}.shape", reason)
        rows = shape[0] if model.batched else 1
        arrays[sent.name], size = _tensor(sent, binary[offset:], shape, port.dtype, field)
        offset += size
    if len(arrays) < len(ports):
        missing = ", ".join(repr(name) for name in ports if name not in arrays)
        raise RequestError("inputs", f"lack {missing}")
    if offset != len(binary):
        reason = f"has {len(binary) - offset} bytes after the data of the inputs"
        raise RequestError("body", reason)
    return arrays, rows


def _shape(sent: Input, port: ModelPort, batched: bool, field: str) -> tuple[int, ...]:
    if DATATYPES.get(sent.datatype) != port.dtype:
        reason = f"{port.name} is {datatype(port.dtype)}, got {shown(sent.datatype)}"
        raise RequestError(f"{field}.datatype", reason)
    shape = tuple(sent.shape)
    wanted: tuple[object, ...] = ("rows", *port.shape) if batched else port.shape
    if len(shape) != len(wanted) or shape[batched:] != port.shape:
        reason = f"{port.name} is [{', '.join(map(str, wanted))}], got {_short(shape)}"
        raise RequestError(f"{field}.shape", reason)
    if batched and shape[0] < 1:
        raise RequestError(f"{field}.shape", f"needs at least one row, got {shown(shape[0])}")
    return shape


def _short(shape: tuple[int, ...]) -> str:
    shown = ", ".join(str(extent)[:24] for extent in shape[:8])
    return f"[{shown}{', ...' if len(shape) > 8 else ''}]"


def _tensor(
    sent: Input, binary: memoryview, shape: tuple[int, ...], dtype: np.dtype[Any], field: str
) -> tuple[Array, int]:
    """Returns the array of an input and how many bytes of `binary` it takes."""
    parameters = given(sent.parameters)
    require_served(parameters, f"{field}.parameters")
    size = parameters.get("binary_data_size")
    data = memoryview(sent.data)
    if bytes(data[:5]) == b"null":
        data = memoryview(b"")
    if size is None:
        if not data:
            raise RequestError(f"{field}.data", "is missing, and so is binary_data_size")
        return read_numbers(sent.data, shape, dtype, f"{field}.data"), 0
    place = f"{field}.parameters.binary_data_size"
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise RequestError(place, f"needs a number of bytes, got {shown(size)}")
    if data:
        raise RequestError(f"{field}.data", "is given beside binary_data_size")
    needed = math.prod(shape) * dtype.itemsize
    if size != needed:
        reason = f"is {shown(size)}, {list(shape)} of {datatype(dtype)} needs {needed}"
        raise RequestError(place, reason)
    if size > len(binary):
        raise RequestError(place, f"is {size}, the body has {len(binary)} bytes left")
    return _binary(binary[:size], shape, dtype, f"{field}.data"), size


def _binary(data: memoryview, shape: tuple[int, ...], dtype: np.dtype[Any], field: str) -> Array:
    # The protocol's order of bytes is little-endian, which is that of every machine served here.
    if dtype == np.bool_:
        octets = np.frombuffer(data, np.uint8)
        # Any other byte in a boolean is undefined behaviour to a runtime.
        if octets.size and octets.max() > 1:
            raise RequestError(field, f"has the byte {octets.max()}, a BOOL is 0 or 1")
    array = np.frombuffer(data, dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def read_raw(body: bytes | bytearray, model: Served) -> tuple[dict[str, Array], int]:
    """Returns the only input of a model, whose data the whole body is, and its rows."""
    if len(model.inputs) != 1:
        reason = f"is 0, which needs a model with one input, {model.name} has {len(model.inputs)}"
        raise RequestError("Inference-Header-Content-Length", reason)
    port = model.inputs[0]
    size = math.prod(port.shape) * port.dtype.itemsize
    rows = len(body) // size if model.batched and size else 1
    if not rows or rows * size != len(body):
        wanted = f"a multiple of {size}" if model.batched else str(size)
        raise RequestError("body", f"has {len(body)} bytes, {port.name} needs {wanted}")
    shape = (rows, *port.shape) if model.batched else port.shape
    array = _binary(memoryview(body), shape, port.dtype, "body")
    return {port.name: array}, rows


def given(parameters: Parameters | None) -> dict[str, bool | int | float | str]:
    """Returns the parameters that have a value: what is null counts as left out."""
    if not parameters:
        return {}
    return {name: each for name, each in parameters.items() if each is not None}


def require_served(parameters: Mapping[str, object], field: str) -> None:
    """Raises `RequestError` for a parameter that would change the answer, were it obeyed."""
    for name in parameters:
        # A sequence of zero is how Triton's clients spell none.
        if name in _UNSERVED and parameters[name]:
            raise RequestError(f"{field}.{name}", _UNSERVED[name])


def shown(value: object) -> str:
    """Returns a value of the client's, short enough for an error."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def unknown(name: str, known: tuple[str, ...], model: str) -> str:
    """Returns why a name is refused."""
    return f"{model} has no {shown(name)}, it has {', '.join(map(repr, known)) or 'none'}"
