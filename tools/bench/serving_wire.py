"""The wire: requests of the Open Inference Protocol as bytes, and answers judged by the oracle's.

This is a client's reading of the protocol, which shares no line with the server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.bundle import Bundle

__all__ = ["HEADER", "Answer", "Truths", "Wire", "body_of", "message", "read_answer"]

Array = npt.NDArray[Any]

DATATYPES: Final[dict[str, np.dtype[Any]]] = {
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
}
NAMES: Final = {dtype: name for name, dtype in DATATYPES.items()}
# How many times the envelope the rows have to be apart, so that one cannot pass for another.
APART: Final = 100.0
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


@dataclass(frozen=True, slots=True)
class Truths:
    """The sample of a batched bundle's largest program, row by row.

    A result may be off by its envelope, which is a share of the largest magnitude among the
    oracle's answers.
    """

    model: str
    version: str
    inputs: Mapping[str, Array]
    results: Mapping[str, Array]
    allowed: Mapping[str, float]

    @classmethod
    def of(cls, bundle: Bundle) -> Truths:
        """Returns the truths of a bundle; raises `ValueError` where two rows are too alike."""
        program = bundle.programs[-1]
        calls = program.sample()
        inputs = {
            port.name: np.concatenate([call.inputs[port.name] for call in calls])
            for port in program.inputs
        }
        results = {
            port.name: np.concatenate([call.results[port.name] for call in calls])
            for port in program.results
        }
        allowed = {
            port.name: port.envelope * float(np.abs(results[port.name]).max())
            for port in program.results
        }
        for name, result in results.items():
            _require_apart(name, result, allowed[name])
        return cls(bundle.name, bundle.version, inputs, results, allowed)

    def __len__(self) -> int:
        """Returns how many rows there are."""
        return len(next(iter(self.inputs.values())))

    def feeds(self, rows: Sequence[int]) -> dict[str, Array]:
        """Returns the inputs of those rows."""
        return {name: array[list(rows)] for name, array in self.inputs.items()}

    def fault(self, rows: Sequence[int], results: Mapping[str, Array]) -> str:
        """Returns what is wrong with the results of those rows, or nothing."""
        if results.keys() != self.results.keys():
            return f"answers {sorted(results)}, {sorted(self.results)} were due"
        for name, result in results.items():
            due = self.results[name][list(rows)]
            if result.shape != due.shape or result.dtype != due.dtype:
                return f"{name} is {result.dtype} {result.shape}, {due.dtype} {due.shape} was due"
            off = float(np.abs(result.astype(np.float64) - due).max())
            if not off <= self.allowed[name]:
                return f"{name} is off by {off:.3g}, {self.allowed[name]:.3g} is allowed"
        return ""

    def same_bits(self, rows: Sequence[int], results: Mapping[str, Array]) -> bool:
        """Returns whether the results of those rows are the oracle's to the bit."""
        return all(
            result.tobytes() == self.results[name][list(rows)].tobytes()
            for name, result in results.items()
        )


def _require_apart(name: str, result: Array, allowed: float) -> None:
    rows = result.reshape(len(result), -1).astype(np.float64)
    apart = np.abs(rows[:, None] - rows[None]).max(axis=2)
    np.fill_diagonal(apart, np.inf)
    if not apart.min() > APART * allowed:
        raise ValueError(
            f"{name} has rows that are {apart.min():.3g} apart, which tells too little"
        )
