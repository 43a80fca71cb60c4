"""An evaluation of the float32 maps that shares no step with their kernel.

The kernel rounds an approximation of numpy's; this rounds the double-double enclosures that the
float64 kernels start from. The two meet only in the tables of sine, cosine and erf.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels import mapping, maps

__all__ = ["BRACKETS", "enclosed"]

Array = npt.NDArray[Any]

# An end is rounded to float64 before it is rounded to float32; these undo the first rounding.
_INWARD: Final = 1.0 - 2.0**-52
_OUTWARD: Final = 1.0 + 2.0**-52


def _bracket_sqrt(values: Array) -> mapping.Ends:
    # The IEEE root of a float64 is within half a unit of its last place.
    root = np.sqrt(values)
    return root, root


BRACKETS: Final[dict[str, mapping.Bracket]] = {
    **{name: each.quick for name, each in maps.MAPS.items()},
    "sqrt": _bracket_sqrt,
}


def enclosed(name: str, values: Array) -> tuple[Array, Array]:
    """Returns the map of float32 `values`, and where two ends rounded alike to it.

    Elsewhere the first array says nothing. Every NaN is the canonical one.
    """
    with np.errstate(all="ignore"):
        low, high = BRACKETS[name](values.astype(np.float64))
        one, other = np.abs(low), np.abs(high)
        inner = (np.minimum(one, other) * _INWARD).astype(np.float32)
        outer = (np.maximum(one, other) * _OUTWARD).astype(np.float32)
        decided = (inner == outer) & (np.signbit(low) == np.signbit(high))
        result = np.copysign(inner, low).astype(np.float32)
    invalid = np.isnan(low) | np.isnan(high)
    result.view(np.uint32)[invalid] = 0x7FC0_0000
    return result, decided | invalid
