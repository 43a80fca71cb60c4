"""The wire: requests of the Open Inference Protocol as bytes, and answers read back from bytes.

This is a client's reading of the protocol, which shares no line with the server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["HEADER", "Answer", "Wire", "body_of", "message", "read_answer"]

Array = npt.NDArray[Any]

DATATYPES: Final[dict[str, np.dtype[Any]]] = {
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
}
NAMES: Final = {dtype: name for name, dtype in DATATYPES.items()}
HEADER: Final = "inference-header-content-length"


class Wire(Enum):
    """How tensors travel: as JSON numbers, as bytes behind the JSON, or as the body itself."""

    JSON = "json"
    BINARY = "binary"
    RAW = "raw"


class Answer(NamedTuple):
    """The version that answered, and its results by name."""

    version: str
    results: dict[str, Array]


def body_of(arrays: Mapping[str, Array], wire: Wire) -> tuple[dict[str, str], bytes]:
    """Returns the headers and the body that ask for the results of `arrays`.

    Results come back as the inputs went; raw needs a model of one input.
    """
    if wire is Wire.RAW:
        return {HEADER: "0"}, b"".join(array.tobytes() for array in arrays.values())
    inputs: list[dict[str, Any]] = []
    for name, array in arrays.items():
        tensor: dict[str, Any] = {
            "name": name,
            "shape": list(array.shape),
            "datatype": NAMES[array.dtype],
        }
        if wire is Wire.JSON:
            tensor["data"] = array.ravel().tolist()
        else:
            tensor["parameters"] = {"binary_data_size": array.nbytes}
        inputs.append(tensor)
    if wire is Wire.JSON:
        return {}, json.dumps({"inputs": inputs}).encode()
    asked = {"inputs": inputs, "parameters": {"binary_data_output": True}}
    text = json.dumps(asked).encode()
    return {HEADER: str(len(text))}, text + b"".join(array.tobytes() for array in arrays.values())


def message(path: str, headers: Mapping[str, str], body: bytes, *, method: str = "POST") -> bytes:
    """Returns a whole request."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def read_answer(headers: Mapping[str, str], body: bytes) -> Answer:
    """Returns what the body of an answer says; raises `ValueError` for what is none."""
    length = int(headers.get(HEADER, len(body)))
    try:
        answer = json.loads(body[:length])
        outputs: Iterable[dict[str, Any]] = answer["outputs"]
        results, start = {}, length
        for output in outputs:
            shape, dtype = tuple(output["shape"]), DATATYPES[output["datatype"]]
            if "data" in output:
                array = np.array(output["data"], dtype)
            else:
                size = output["parameters"]["binary_data_size"]
                array = np.frombuffer(body[start : start + size], dtype)
                start += size
            results[output["name"]] = array.reshape(shape)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no answer of the protocol: {error!r}") from error
    if start != len(body) and length != len(body):
        raise ValueError(f"{len(body) - start} bytes are left over")
    return Answer(answer.get("model_version", ""), results)
