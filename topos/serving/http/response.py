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
from topos.serving.status import ModelStatus

__all__ = ["write_response"]

Array = npt.NDArray[Any]

_ENCODER: Final = msgspec.json.Encoder()


def write_response(
    results: Mapping[str, Array], inference: Inference, model: ModelStatus
) -> tuple[bytes, int | None]:
    """Returns a body, and how many bytes of JSON it starts with where binary data follow.

    The outputs are those that were asked for, in the order in which they were.
    """
    outputs: list[dict[str, object]] = []
    binary: list[memoryview] = []
    for name, raw in inference.outputs.items():
        array = results[name]
        output: dict[str, object] = {
            "name": name,
            "datatype": datatype(array.dtype),
            "shape": array.shape,
        }
        if raw:
            output["parameters"] = {"binary_data_size": array.nbytes}
            binary.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        else:
            output["data"] = written_numbers(array)
        outputs.append(output)
    answer: dict[str, object] = {"model_name": model.name, "model_version": model.version}
    if inference.id:
        answer["id"] = inference.id
    answer["outputs"] = outputs
    text = _ENCODER.encode(answer)
    if not binary:
        return text, None
    return b"".join([text, *binary]), len(text)
