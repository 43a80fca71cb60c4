"""Admission: whether what a caller sent fits the model, told by the name of what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.serving.description import Description
from topos.serving.errors import RequestError, TooLargeError
from topos.serving.settings import Settings
from topos.serving.status import ModelPort

Array = npt.NDArray[Any]


class Admitted(NamedTuple):
    """Arrays in the order of the model's inputs, their rows, and their bytes.

    `rows` is one where calls have no rows of their own.
    """

    arrays: list[Array]
    rows: int
    size: int


def admit(description: Description, inputs: Mapping[str, Any], settings: Settings) -> Admitted:
    """Returns what `inputs` bring, in the order of the description.

    Raises `RequestError` naming the input that is missing, unknown, or of another type, shape or
    number of rows than the model takes, and `TooLargeError` past the limits of `settings`.
    """
    _require_mapping(inputs)
    ports = description.inputs
    arrays = [_array(port, inputs, ports) for port in ports]
    if len(inputs) > len(ports):
        raise _unknown(ports, inputs)
    rows, size = 1, 0
    if description.batched:
        rows = _rows(ports, arrays)
    else:
        _require_shapes(ports, arrays)
    for array in arrays:
        size += array.nbytes
    if rows > settings.max_rows:
        raise TooLargeError(ports[0].name, f"needs {settings.max_rows} rows at most, got {rows}")
    if size > settings.max_bytes:
        raise TooLargeError("inputs", f"need {settings.max_bytes} bytes at most, got {size}")
    return Admitted(arrays, rows, size)


def converted(inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Returns `inputs` as arrays, by whatever ways their classes have, in the caller's own thread.

    Raises `RequestError` naming the one that cannot be.
    """
    _require_mapping(inputs)
    try:
        given = dict(inputs)
    # A mapping of the caller's own may raise anything.
    except Exception as error:
        got = f"{type(inputs).__name__}, which raises {type(error).__name__}"
        raise RequestError("inputs", f"needs names mapped to arrays, got {got}") from error
    return {name: _converted(name, value) for name, value in given.items()}


def _require_mapping(inputs: object) -> None:
    # Nearly everyone brings a dict, and to look for a mapping behind a class takes a while.
    if type(inputs) is not dict and not isinstance(inputs, Mapping):
        raise RequestError("inputs", f"needs names mapped to arrays, got {type(inputs).__name__}")


def _converted(name: str, given: Any) -> Array:
    if type(given) is np.ndarray:
        return given
    try:
        return np.asarray(given)
    # An argument's own `__array__` may raise anything.
    except Exception as error:
        raise RequestError(str(name), f"needs an array, got {type(given).__name__}") from error


def _array(port: ModelPort, inputs: Mapping[str, Any], ports: tuple[ModelPort, ...]) -> Array:
    name = port.name
    if name not in inputs:
        raise RequestError(name, f"is missing; the model takes {_names(ports)}")
    given = inputs[name]
    if type(given) is np.ndarray and given.dtype is port.dtype:
        return given
    array = _converted(name, given)
    if array.dtype != port.dtype:
        raise RequestError(name, f"needs elements of {port.dtype}, got {array.dtype}")
    return array


def _unknown(ports: tuple[ModelPort, ...], inputs: Mapping[str, Any]) -> RequestError:
    known = {port.name for port in ports}
    name = next(name for name in inputs if name not in known)
    return RequestError(str(name), f"is no input; the model takes {_names(ports)}")


def _names(ports: tuple[ModelPort, ...]) -> str:
    return ", ".join(port.name for port in ports) or "no inputs"


def _rows(ports: tuple[ModelPort, ...], arrays: list[Array]) -> int:
    """Returns how many rows all arrays have."""
    for port, array in zip(ports, arrays, strict=True):
        # `()` has no first extent, and what is left of it would be a row of no axes.
        if array.shape[1:] != port.shape or not array.ndim:
            wanted = ", ".join(["rows", *map(str, port.shape)])
            raise RequestError(port.name, f"needs the shape ({wanted}), got {array.shape}")
    rows, first = len(arrays[0]), ports[0].name
    for port, array in zip(ports[1:], arrays[1:], strict=True):
        if len(array) != rows:
            needs = f"needs as many rows as {first} has, which are {rows}, got {len(array)}"
            raise RequestError(port.name, needs)
    if not rows:
        raise RequestError(first, "needs one row at least, got none")
    return rows


def _require_shapes(ports: tuple[ModelPort, ...], arrays: list[Array]) -> None:
    for port, array in zip(ports, arrays, strict=True):
        if array.shape != port.shape:
            raise RequestError(port.name, f"needs the shape {port.shape}, got {array.shape}")
