"""Lenience: what clients write that JSON or the protocol lacks, read as they mean it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.serving.test_serving_http_request import LIMIT, X_SENT, N, X, model, read
from topos import bf16
from topos.serving import RequestError
from topos.serving.http.numbers import datatype
from topos.serving.http.request import read_inference

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, bf16.dtype])
@pytest.mark.parametrize("nested", [False, True])
def test_the_words_that_python_writes_for_numbers_are_read(dtype: Any, nested: bool) -> None:
    values = [NAN, 1.5, INFINITY, -INFINITY, "NaN", "-Infinity"]
    wanted = np.array([NAN, 1.5, INFINITY, -INFINITY, NAN, -INFINITY], dtype).reshape(2, 3)
    data = [values[:3], values[3:]] if nested else values
    status = model(x=((3,), dtype))
    tensor = {**X, "datatype": datatype(np.dtype(dtype)), "data": data}
    # Words in other texts are none.
    for identifier in ('NaN, "data": [NaN', "-Infinity"):
        found = read({"id": identifier, "inputs": [tensor]}, status=status)
        assert found.id == identifier
        assert found.inputs["x"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        *((f"[1, {word}]", "body: is no JSON: ") for word in ("-NaN", "nan", "NaN1", "Inf")),
        ("[+Infinity, 1]", "body: is no JSON: "),
        ("[NaN, 1", "body: is no JSON: "),
        ('[NaN, 1], "parameters": {"a": NaN}', "body: is no JSON: "),
        ('[1, 1], "more": Infinity', "body: is no JSON: "),
        ("NaN", "body: is no JSON: "),
        ("[NaN, [1]]", "inputs[0].data[1]: needs a number or a string, got an array"),
        ("[NaN]", "inputs[0].data: has 1 values, shape [1, 2] needs 2"),
    ],
)
def test_elsewhere_a_word_is_no_json(data: str, reason: str) -> None:
    tensor = f'{{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": {data}}}'
    text = f'{{"inputs": [{tensor}]}}'
    with pytest.raises(RequestError) as caught:
        read_inference(text.encode(), None, model(x=((2,), np.float32)), LIMIT)
    assert str(caught.value).startswith(reason)


def test_what_is_null_is_absent() -> None:
    nothing = {"id": None, "outputs": None, "parameters": None}
    found = read({"inputs": [{**X, "parameters": None}, N], **nothing})
    assert (found.id, found.outputs, found.deadline) == ("", {"y": False, "z": False}, None)
    parameters = dict.fromkeys(("timeout", "binary_data_output", "sequence_id"))
    output = {"name": "z", "parameters": {"binary_data": None, "classification": None}}
    tensors = [{**X, "parameters": {"binary_data_size": None, "shared_memory_region": None}}, N]
    found = read({"inputs": tensors, "outputs": [output], "parameters": parameters})
    assert found.outputs == {"z": False}
    data = np.arange(6, dtype=np.float32).tobytes()
    assert read({"inputs": [{**X_SENT, "data": None}, N]}, data).inputs["x"].tobytes() == data
    assert read({"inputs": [X, N], "outputs": [{"name": "y", "parameters": None}]}).outputs
