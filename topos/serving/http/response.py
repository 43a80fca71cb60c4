"""Responses: the results of a call as the body of an inference response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from topos.serving.http.datatypes import datatype
from topos.serving.http.request import Inference
from topos.serving.http.writing_numbers import written_numbers

__all__ = ["write_response"]

Array = npt.NDArray[Any]

_ENCODER: Final = msgspec.json.Encoder()
# To copy so few bytes takes less than to look at them in place.
_SMALL: Final = 2**14


def write_response(
    results: Mapping[str, Array], inference: Inference, name: str, version: str
) -> tuple[bytes, int | None]:
    """Returns the answer of a version of the model `name` as a body.

    With it comes how many bytes of JSON it starts with, where binary data follow.

    The outputs are those that were asked for, in the order in which they were.
    """
    outputs: list[dict[str, object]] = []
    binary: list[bytes | memoryview] = []
    for label, raw in inference.outputs.items():
        array = results[label]
        output: dict[str, object] = {
            "name": label,
            "datatype": datatype(array.dtype),
            "shape": array.shape,
        }
        if raw:
            output["parameters"] = {"binary_data_size": array.nbytes}
            binary.append(_octets(array))
        else:
            output["data"] = written_numbers(array)
        outputs.append(output)
    answer: dict[str, object] = {"model_name": name, "model_version": version}
    if inference.id:
        answer["id"] = inference.id
    answer["outputs"] = outputs
    text = _ENCODER.encode(answer)
    if not binary:
        return text, None
    return b"".join([text, *binary]), len(text)


def _octets(array: Array) -> bytes | memoryview:
    """Returns the elements in row-major order."""
    if array.nbytes <= _SMALL:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
