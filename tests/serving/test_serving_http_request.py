"""Requests: every fault of a body is an error that starts with the field at fault."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from topos import bf16
from topos.serving import ModelPort, ModelStatus, RequestError, TooLargeError
from topos.serving.http.request import Inference, read_inference

LENGTH = "Inference-Header-Content-Length"
LIMIT = 10_000
X = {"name": "x", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}
N = {"name": "n", "shape": [2], "datatype": "INT8", "data": [7, -8]}
X_SENT = {**X, "parameters": {"binary_data_size": 24}}
del X_SENT["data"]


def model(batched: bool = True, **ports: tuple[tuple[int, ...], Any]) -> ModelStatus:
    inputs = ports or {"x": ((3,), np.float32), "n": ((), np.int8)}
    return ModelStatus(
        name="m",
        version="1",
        ready=True,
        reason="",
        batched=batched,
        rows=(1, 2) if batched else (),
        inputs=tuple(ModelPort(name, s, np.dtype(d)) for name, (s, d) in inputs.items()),
        results=tuple(ModelPort(name, (), np.dtype(np.float32)) for name in ("y", "z")),
        runtime="interpreter",
        waiting=0,
    )


def read(request: object, data: bytes = b"", status: ModelStatus | None = None) -> Inference:
    text = json.dumps(request).encode()
    return read_inference(text + data, len(text) if data else None, status or model(), LIMIT)


def test_json_is_read_flat_and_nested() -> None:
    nested = {**X, "data": [[1, 2, 3], [4, 5, 6.5]]}
    found = read({"inputs": [N, nested], "id": "some"})
    assert found.id == "some"
    assert found.rows == 2
    assert found.inputs["x"].tolist() == [[1, 2, 3], [4, 5, 6.5]]
    assert found.inputs["n"].tobytes() == np.array([7, -8], np.int8).tobytes()
    assert found.outputs == {"y": False, "z": False}


def test_binary_data_is_read_in_the_order_of_the_inputs() -> None:
    x, n = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.int8)
    n_sent = {**N, "parameters": {"binary_data_size": 2}}
    del n_sent["data"]
    found = read({"inputs": [n_sent, X_SENT]}, n.tobytes() + x.tobytes())
    assert found.inputs["x"].tobytes() == x.tobytes()
    assert found.inputs["n"].tobytes() == n.tobytes()
    assert found.inputs["x"].flags.aligned


def test_outputs_are_those_asked_for_in_their_order() -> None:
    asked = [{"name": "z"}, {"name": "y", "parameters": {"binary_data": False}}]
    parameters = {"binary_data_output": True}
    found = read({"inputs": [X, N], "outputs": asked, "parameters": parameters})
    assert list(found.outputs.items()) == [("z", True), ("y", False)]


def test_timeout_is_in_microseconds_and_zero_is_none() -> None:
    assert read({"inputs": [X, N], "parameters": {"timeout": 250}}).deadline == 0.00025
    assert read({"inputs": [X, N], "parameters": {"timeout": 0}}).deadline is None


def test_a_raw_body_is_the_only_input() -> None:
    rows = np.arange(6, dtype=np.float32)
    found = read_inference(rows.tobytes(), 0, model(x=((3,), np.float32)), LIMIT)
    assert found.inputs["x"].shape == (2, 3)
    assert found.inputs["x"].tobytes() == rows.tobytes()
    assert found.outputs == {"y": True, "z": True}


def test_bfloat16_is_read_as_binary_and_as_json() -> None:
    status = model(x=((2,), bf16.dtype))
    tensor = {"name": "x", "shape": [1, 2], "datatype": "BF16", "data": [0.1, "-Infinity"]}
    array = read({"inputs": [tensor]}, status=status).inputs["x"]
    assert array.tobytes() == np.array([[0.1, -np.inf]], bf16.dtype).tobytes()


def without(tensor: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in tensor.items() if key != name}


FAULTS: list[tuple[object, str]] = [
    ([], "body: needs an object, got an array"),
    ({}, "body: lacks 'inputs'"),
    ({"inputs": 3}, "inputs: needs an array, got a number"),
    ({"inputs": [X]}, "inputs: lack 'n'"),
    ({"inputs": [X, N, X]}, "inputs[2].name: 'x' is given twice"),
    ({"inputs": [X, {**N, "name": "k"}]}, "inputs[1].name: m has no 'k', it has 'x', 'n'"),
    ({"inputs": [X, {**N, "name": 4}]}, "inputs[1].name: needs a string, got a number"),
    ({"inputs": [without(X, "shape"), N]}, "inputs[0]: lacks 'shape'"),
    ({"inputs": [without(X, "data"), N]}, "inputs[0].data: is missing, and so is binary_data_size"),
    ({"inputs": [{**X, "data": None}, N]}, "inputs[0].data: is missing, and so is binary_data"),
    ({"inputs": None}, "inputs: needs an array, got null"),
    ({"inputs": [{**X, "shape": None}, N]}, "inputs[0].shape: needs an array, got null"),
    ({"inputs": [X, N], "outputs": [None]}, "outputs[0]: needs an object, got null"),
    ({"inputs": [{**X, "shape": [2.5, 3]}, N]}, "inputs[0].shape[0]: needs a whole number"),
    ({"inputs": [{**X, "shape": "2"}, N]}, "inputs[0].shape: needs an array, got a string"),
    ({"inputs": [{**X, "shape": [2, 4]}, N]}, "inputs[0].shape: x is [rows, 3], got [2, 4]"),
    ({"inputs": [{**X, "shape": [6]}, N]}, "inputs[0].shape: x is [rows, 3], got [6]"),
    ({"inputs": [{**X, "shape": [-2, -3]}, N]}, "inputs[0].shape: x is [rows, 3], got [-2, -3]"),
    ({"inputs": [{**X, "shape": [0, 3]}, N]}, "inputs[0].shape: needs at least one row, got 0"),
    (
        {"inputs": [{**X, "shape": [10**30, 3]}, N]},
        f"inputs[0].data: has 6 values, shape [{10**30}, 3] needs {3 * 10**30}",
    ),
    (
        {"inputs": [{**X, "shape": [3] * 50}, N]},
        "inputs[0].shape: x is [rows, 3], got [3, 3, 3, 3, 3, 3, 3, 3, ...]",
    ),
    (
        {"inputs": [X, {**N, "shape": [3], "data": [1, 2, 3]}]},
        "inputs[1].shape: has 3 for rows, the inputs before it have 2",
    ),
    ({"inputs": [{**X, "datatype": "FP64"}, N]}, "inputs[0].datatype: x is FP32, got 'FP64'"),
    ({"inputs": [{**X, "datatype": "BYTES"}, N]}, "inputs[0].datatype: x is FP32, got 'BYTES'"),
    ({"inputs": [{**X, "datatype": None}, N]}, "inputs[0].datatype: needs a string, got null"),
    ({"inputs": [{**X, "data": [1]}, N]}, "inputs[0].data: has 1 values, shape [2, 3] needs 6"),
    (
        {"inputs": [{**X, "data": [1] * 7}, N]},
        "inputs[0].data: has 7 values, shape [2, 3] needs 6",
    ),
    (
        {"inputs": [{**X, "data": [[1, 2, 3], [4, 5]]}, N]},
        "inputs[0].data: is nested unevenly",
    ),
    (
        {"inputs": [{**X, "data": [[1, 2], [3, 4], [5, 6]]}, N]},
        "inputs[0].data: is nested as [3, 2], shape is [2, 3]",
    ),
    (
        {"inputs": [{**X, "data": [1, 2, 3, 4, 5, "six"]}, N]},
        "inputs[0].data[5]: needs a number, got 'six'",
    ),
    ({"inputs": [{**X, "data": [1, 2, 3, 4, 5, None]}, N]}, "inputs[0].data[5]: needs a number,"),
    ({"inputs": [{**X, "data": [1, 2, 3, 4, 5, True]}, N]}, "inputs[0].data[5]: needs a number,"),
    ({"inputs": [{**X, "data": 5}, N]}, "inputs[0].data: needs an array, got a number"),
    (
        {"inputs": [{**X, "data": [1, 2, 3, 4, 5, 1e39]}, N]},
        "inputs[0].data: has 1e+39, which overflows FP32",
    ),
    ({"inputs": [X, {**N, "data": [1, 300]}]}, "inputs[1].data: has a number that INT8 does not"),
    ({"inputs": [X, {**N, "data": [1, 2.5]}]}, "inputs[1].data[1]: needs a whole number, got one"),
    ({"inputs": [X, {**N, "data": [1, "NaN"]}]}, "inputs[1].data[1]: needs a whole number, got a"),
    ({"inputs": [X, N], "outputs": [{"name": "q"}]}, "outputs[0].name: m has no 'q', it has"),
    (
        {"inputs": [X, N], "outputs": [{"name": "y"}, {"name": "y"}]},
        "outputs[1].name: 'y' is asked for twice",
    ),
    (
        {"inputs": [X, N], "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]},
        "outputs[0].parameters.binary_data: needs true or false, got 1",
    ),
    (
        {"inputs": [X, N], "outputs": [{"name": "y", "parameters": {"classification": 2}}]},
        "outputs[0].parameters.classification: is not served",
    ),
    (
        {"inputs": [X, N], "parameters": {"binary_data_output": "yes"}},
        "parameters.binary_data_output: needs true or false, got 'yes'",
    ),
    ({"inputs": [X, N], "parameters": {"timeout": -1}}, "parameters.timeout: needs whole"),
    ({"inputs": [X, N], "parameters": {"timeout": 10**400}}, "parameters.timeout: needs whole"),
    ({"inputs": [X, N], "parameters": {"sequence_id": 3}}, "parameters.sequence_id: needs a model"),
    (
        {"inputs": [X, N], "parameters": {"nested": {}}},
        "parameters[...]: needs true or false, a number or a string, got an object",
    ),
    ({"inputs": [X, N], "id": 5}, "id: needs a string, got a number"),
    (
        {"inputs": [{**X, "parameters": {"shared_memory_region": "r"}}, N]},
        "inputs[0].parameters.shared_memory_region: is not served",
    ),
    (
        {"inputs": [{**X, "parameters": {"binary_data_size": 24}}, N]},
        "inputs[0].data: is given beside binary_data_size",
    ),
    (
        {"inputs": [X_SENT, N]},
        "inputs[0].parameters.binary_data_size: is 24, the body has 0 bytes left",
    ),
    (
        {"inputs": [{**X_SENT, "parameters": {"binary_data_size": -24}}, N]},
        "inputs[0].parameters.binary_data_size: needs a number of bytes, got -24",
    ),
    (
        {"inputs": [{**X_SENT, "parameters": {"binary_data_size": True}}, N]},
        "inputs[0].parameters.binary_data_size: needs a number of bytes, got True",
    ),
    (
        {"inputs": [{**X_SENT, "parameters": {"binary_data_size": 20}}, N]},
        "inputs[0].parameters.binary_data_size: is 20, [2, 3] of FP32 needs 24",
    ),
]


@pytest.mark.parametrize(("request_", "reason"), FAULTS)
def test_a_fault_names_its_field(request_: object, reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(request_)
    assert str(caught.value).startswith(reason)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "body: is empty, and needs JSON"),
        (b" \n", "body: is empty, and needs JSON"),
        (b"{", "body: is no complete JSON"),
        (b"[" * 9_000, "body: needs an object, got an array"),
        (b'{"inputs": NaN}', "body: is no JSON"),
        (b'{"inputs": []} {}', "body: is no JSON: trailing characters"),
        (b'{"inputs": [], "id": "\xff"}', "body: is not UTF-8"),
        (b'{"inputs": [], "id": "\\ud800"}', "body: is no complete JSON"),
        (b"\x80\x04K\x01.", "body: is no JSON"),
    ],
)
def test_what_is_no_json_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_inference(text, None, model(), LIMIT)
    assert str(caught.value).startswith(reason)


def test_bytes_after_the_last_input_are_refused() -> None:
    with pytest.raises(RequestError, match=r"^body: has 3 bytes after the data of the inputs"):
        read({"inputs": [X_SENT, N]}, bytes(24 + 3))


def test_data_that_the_body_lacks_are_refused() -> None:
    with pytest.raises(RequestError, match=r"binary_data_size: is 24, the body has 23 bytes left"):
        read({"inputs": [X_SENT, N]}, bytes(23))


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (20, f"{LENGTH}: is 20, more than the body, which has 17 bytes"),
        (17, f"body: its first 17 bytes, as {LENGTH} says, are no JSON: trailing characters"),
        (5, f"body: its first 5 bytes, as {LENGTH} says, are no complete JSON"),
        (15, "inputs: lack 'x'"),
    ],
)
def test_a_header_length_other_than_that_of_the_json_is_named(length: int, reason: str) -> None:
    with pytest.raises(RequestError, match=f"^{reason}"):
        read_inference(b'{"inputs": [] }\1\2', length, model(), LIMIT)


def test_json_beyond_the_limit_is_refused_unread() -> None:
    with pytest.raises(TooLargeError, match=r"^body: has 10001 bytes of JSON, at most 10000"):
        read_inference(b"[" * (LIMIT + 1), None, model(), LIMIT)
    with pytest.raises(TooLargeError, match=f"^{LENGTH}: has 10001 bytes of JSON"):
        read_inference(b"[" * (LIMIT + 9), LIMIT + 1, model(), LIMIT)


def test_a_boolean_byte_is_zero_or_one() -> None:
    tensor = {
        "name": "b",
        "shape": [2, 2],
        "datatype": "BOOL",
        "parameters": {"binary_data_size": 4},
    }
    status = model(b=((2,), np.bool_))
    assert read({"inputs": [tensor]}, b"\0\1\1\0", status).inputs["b"].tolist() == [
        [False, True],
        [True, False],
    ]
    with pytest.raises(RequestError, match=r"^inputs\[0\].data: has the byte 2, a BOOL is 0 or 1"):
        read({"inputs": [tensor]}, b"\0\1\2\0", status)


def test_a_raw_body_has_whole_rows_of_one_input() -> None:
    with pytest.raises(RequestError, match=r"^body: has 13 bytes, x needs a multiple of 12"):
        read_inference(bytes(13), 0, model(x=((3,), np.float32)), LIMIT)
    with pytest.raises(RequestError, match=r"^body: has 0 bytes, x needs a multiple of 12"):
        read_inference(b"", 0, model(x=((3,), np.float32)), LIMIT)
    with pytest.raises(RequestError, match="needs a model with one input, m has 2"):
        read_inference(bytes(12), 0, model(), LIMIT)


def test_a_model_without_rows_takes_its_shape_only() -> None:
    status = model(batched=False, x=((2, 3), np.float32))
    assert read({"inputs": [X]}, status=status).rows == 1
    with pytest.raises(RequestError, match=r"^inputs\[0\].shape: x is \[2, 3\], got \[1, 3\]"):
        read({"inputs": [{**X, "shape": [1, 3]}]}, status=status)
