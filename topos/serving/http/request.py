"""Requests: the body of an inference request read as arrays that fit the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy.typing as npt

from topos.serving.errors import RequestError, TooLargeError
from topos.serving.http.inputs import (
    Input,
    Parameters,
    Served,
    given,
    read_inputs,
    read_raw,
    require_served,
    shown,
    unknown,
)
from topos.serving.http.refusals import UNREADABLE, faulty

Array = npt.NDArray[Any]


class _Output(msgspec.Struct, gc=False):
    name: str
    parameters: Parameters | None = None


class _Request(msgspec.Struct, gc=False):
    inputs: list[Input]
    outputs: list[_Output] | None = None
    id: str | None = None
    parameters: Parameters | None = None


_HEADER: Final = "Inference-Header-Content-Length"
_ID_LENGTH: Final = 256
_FEW_BYTES: Final = 2**14
_FIELDS: Final = 2**11
_DECODER: Final = msgspec.json.Decoder(_Request)
# An array of numbers, with the words that Python's json writes for those that JSON lacks.
_DATA: Final = re.compile(rb'"data"\s*:\s*\[[\s\[\],0-9eE+.NaInfity"-]*')
_BYTE: Final = re.compile(r" \(byte \d+\)$")
_WORD: Final = re.compile(rb'"[^"]*"|NaN|-?Infinity')


@dataclass(slots=True)
class Inference:
    """A request for one call: arrays by input, and by output whether it goes back as binary.

    `deadline` is in seconds, None where the client set none.
    """

    inputs: dict[str, Array]
    outputs: dict[str, bool]
    id: str = ""
    deadline: float | None = None
    rows: int = field(default=1)


def read_inference(
    body: bytes | bytearray,
    json_length: int | None,
    model: Served,
    json_limit: int,
    most_rows: int | None = None,
) -> Inference:
    """Returns the request that `body` holds for `model`.

    `json_length` is the value of `Inference-Header-Content-Length`: the binary data of the inputs
    follow that many bytes of JSON, in their order and nothing after them. Zero means that the
    body is the data of the only input. Raises `RequestError` with the name of the field for
    whatever does not fit, `TooLargeError` for JSON longer than `json_limit` or an input of more
    than `most_rows`, before its numbers are read.
    """
    if json_length == 0:
        inputs, rows = read_raw(body, model)
        return Inference(inputs, {each.name: True for each in model.results}, rows=rows)
    length = len(body) if json_length is None else json_length
    if length > len(body):
        reason = f"is {length}, more than the body, which has {len(body)} bytes"
        raise RequestError(_HEADER, reason)
    if length > json_limit:
        place = "body" if json_length is None else _HEADER
        raise TooLargeError(place, f"has {length} bytes of JSON, at most {json_limit} are taken")
    _require_few_fields(body, length)
    view = memoryview(body)
    request = _decoded(view[:length], None if json_length is None else length)
    identifier, parameters = request.id or "", given(request.parameters)
    if len(identifier) > _ID_LENGTH:
        reason = f"has {len(identifier)} characters, at most {_ID_LENGTH} are taken"
        raise RequestError("id", reason)
    require_served(parameters, "parameters")
    inputs, rows = read_inputs(request.inputs, view[length:], model, most_rows)
    outputs = _outputs(request.outputs or [], parameters, model)
    return Inference(inputs, outputs, identifier, _deadline(parameters), rows)


def _decoded(text: memoryview, declared: int | None) -> _Request:
    try:
        return _DECODER.decode(text)
    except UNREADABLE as error:
        # Only what is no JSON is looked at for bare words: all else is read as quickly as before.
        quoted = _DATA.sub(_quoted, text)
        if len(quoted) == len(text):
            raise _unreadable(error, text, declared) from error
    try:
        return _DECODER.decode(quoted)
    except UNREADABLE as error:
        told = _unreadable(error, text, declared)
        # The quotes have moved what stands behind them.
        told.args = (_BYTE.sub("", str(told)),)
        raise told from error


def _quoted(data: re.Match[bytes]) -> bytes:
    """Returns an array with its bare words as strings, which is how JSON has them."""
    return _WORD.sub(lambda word: b'"%b"' % word[0].strip(b'"'), data[0])


def _require_few_fields(body: bytes | bytearray, length: int) -> None:
    # Each takes a hundred times the memory of its text, and there are no such marks in numbers.
    if length > _FEW_BYTES and body.count(b":", 0, length) > _FIELDS:
        raise RequestError("body", f"has more than {_FIELDS} fields in its JSON")


def _unreadable(error: Exception, text: memoryview, declared: int | None) -> RequestError:
    told = faulty(error, "body")
    if declared is None:
        empty = not bytes(text).strip()
        return RequestError("body", "is empty, and needs JSON") if empty else told
    if isinstance(error, msgspec.ValidationError):
        return told
    # The text may end too early, or run into the binary data, because the header is wrong.
    start = f"its first {declared} bytes, as {_HEADER} says, are"
    return RequestError("body", str(told).replace("body: is", start, 1))


def _deadline(parameters: Mapping[str, object]) -> float | None:
    """Returns the seconds of `timeout`, which is in microseconds; zero means none."""
    value = parameters.get("timeout", 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise RequestError("parameters.timeout", f"needs whole microseconds, got {shown(value)}")
    return value / 1e6 if value else None


def _outputs(
    outputs: Sequence[_Output], parameters: Mapping[str, object], model: Served
) -> dict[str, bool]:
    everywhere = _flag(parameters, "binary_data_output", False, "parameters")
    names = [port.name for port in model.results]
    if not outputs:
        return dict.fromkeys(names, everywhere)
    wanted: dict[str, bool] = {}
    for place, output in enumerate(outputs):
        field = f"outputs[{place}]"
        if output.name not in names:
            raise RequestError(f"{field}.name", unknown(output.name, tuple(names), model.name))
        if output.name in wanted:
            raise RequestError(f"{field}.name", f"{output.name!r} is asked for twice")
        own, within = given(output.parameters), f"{field}.parameters"
        require_served(own, within)
        wanted[output.name] = _flag(own, "binary_data", everywhere, within)
    return wanted


def _flag(parameters: Mapping[str, object], name: str, absent: bool, field: str) -> bool:
    value = parameters.get(name, absent)
    if not isinstance(value, bool):
        raise RequestError(f"{field}.{name}", f"needs true or false, got {shown(value)}")
    return value
