"""Power: one tensor raised to another, correctly rounded in every element."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.maps_narrow import CHUNK, narrowed
from topos.payload.kernels.power_exact import power_each
from topos.payload.kernels.power_wide import bracket_power
from topos.payload.kernels.rounding import BINARY64, FORMATS, Format

__all__ = ["power"]

# numpy's float64 power is trusted to 2**-44, relatively.
_LOW: Final = 1.0 - 2.0**-44
_HIGH: Final = 1.0 + 2.0**-44


def power(base: npt.ArrayLike, exponent: npt.ArrayLike) -> Array:
    """Returns base**exponent, the nearest number to the exact power, ties to even.

    Both operands have one dtype, float64, float32, float16 or bfloat16, or `ElementError` is
    raised; their shapes broadcast. Special cases are those of `pow` in IEEE 754-2019 clause 9.2
    and C99: x**0 and 1**y are 1 even for NaN, (-1)**inf is 1, a negative base has powers at
    integers only. Every NaN result is the canonical quiet NaN.
    """
    bases, exponents = np.broadcast_arrays(base, exponent)
    target = FORMATS.get(bases.dtype)
    if target is None or bases.dtype != exponents.dtype:
        got = f"{bases.dtype} and {exponents.dtype}"
        raise ElementError(f"power needs f64, f32, f16 or bf16 twice, got {got}")
    first = np.ascontiguousarray(bases).reshape(-1)
    second = np.ascontiguousarray(exponents).reshape(-1)
    result = np.empty(first.size, target.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, first.size, CHUNK):
            chunk = slice(start, start + CHUNK)
            _chunk(first[chunk], second[chunk], result[chunk], target)
    return result.reshape(bases.shape)


def _chunk(bases: Array, exponents: Array, result: Array, target: Format) -> None:
    wide, raised = bases.astype(np.float64), exponents.astype(np.float64)
    if target is BINARY64:
        low, high = bracket_power(wide, raised)
    else:
        estimate = np.power(wide, raised)
        low, high = narrowed(estimate * _LOW, target), narrowed(estimate * _HIGH, target)
    result[:] = low
    open_lanes = low != high
    if open_lanes.any():
        _settle(wide, raised, result, open_lanes, target)


def _settle(
    bases: Array, exponents: Array, result: Array, open_lanes: Array, target: Format
) -> None:
    """Writes the final bits of the lanes that an enclosure left open; NaN lanes hold a NaN."""
    # Libraries differ in whether a signalling NaN has these powers; the standard says 1.
    nan = result != result
    result[nan & ((bases == 1.0) | (exponents == 0.0))] = 1.0
    canonical(result)
    lanes = np.flatnonzero(open_lanes & ~nan)
    if lanes.size:
        result[lanes] = power_each(bases[lanes], exponents[lanes], target)
