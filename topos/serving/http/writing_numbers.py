"""Arrays written as JSON numbers: the fewest digits that are read back as the same element."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import orjson

__all__ = ["written_numbers"]

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
