"""Arrays written as JSON numbers: the fewest digits that are read back as the same element."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["written_numbers"]

Array = npt.NDArray[Any]

# The significant decimal digits that tell any two elements apart, and those that every decimal
# keeps (C's DECIMAL_DIG and DIG): between the two lies the shortest spelling.
_DIGITS: Final = {"float32": (6, 9), "float16": (3, 5), "bfloat16": (2, 4)}
# Powers of ten up to this one are doubles, so that a product or quotient by one is rounded once.
_EXACT_POWER: Final = 22
_FEW: Final = 64
_SPECIAL: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def written_numbers(array: Array) -> list[Any]:
    """Returns the elements in row-major order as values that a JSON encoder writes.

    A floating-point element is a double of the fewest digits that is read back as the element, or
    one digit more for a power of two, whose neighbour below is nearer than that above. NaN and the
    infinities, which JSON lacks, are the strings `NaN`, `Infinity` and `-Infinity` of protobuf's
    JSON mapping.
    """
    flat = array.reshape(-1)
    kind, few = flat.dtype.kind, flat.size <= _FEW
    if kind in "biu":
        return flat.tolist()
    if flat.dtype == np.float64:
        values: list[Any] = flat.tolist()
    elif few and kind == "f":
        # Numpy spells ten elements in a fifth of the time that the first array operations take.
        values = [float(str(element)) for element in flat]
    else:
        values = _shortest(flat).tolist()
    if few and all(map(math.isfinite, values)):
        return values
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        values[place] = _SPECIAL[str(values[place])]
    return values


def _shortest(flat: Array) -> Array:
    least, most = _DIGITS[flat.dtype.name]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exact = flat.astype(np.float64)
        result = exact.copy()
        leading = np.floor(np.log10(np.abs(exact)))
        near = (leading >= most - 1 - _EXACT_POWER) & (leading <= least - 1 + _EXACT_POWER)
        open_places = np.flatnonzero(near)
        for digits in range(least, most + 1):
            values = exact[open_places]
            candidates = _decimal(values, digits - 1 - leading[open_places])
            same = candidates.astype(flat.dtype) == flat[open_places]
            result[open_places[same]] = candidates[same]
            open_places = open_places[~same]
        # What is far from one has powers of ten that are no doubles, and is spelled one by one.
        for place in np.flatnonzero(np.isfinite(leading) & ~near).tolist():
            spelled = (float(f"{exact[place]:.{digits}g}") for digits in range(1, most + 1))
            result[place] = next(each for each in spelled if flat.dtype.type(each) == flat[place])
    return result


def _decimal(values: Array, power: Array) -> Array:
    """Returns the doubles nearest to `values` rounded to `power` decimal places."""
    scale = np.power(10.0, np.abs(power))
    scaled = np.where(power >= 0, values * scale, values / scale)
    rounded = np.rint(scaled)
    return np.where(power >= 0, rounded / scale, rounded * scale)
