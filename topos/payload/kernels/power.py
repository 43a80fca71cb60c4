"""Power: one tensor raised to another, correctly rounded in every element."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.maps_narrow import narrowed
from topos.payload.kernels.maps_wide import CHUNK, Ends, refine
from topos.payload.kernels.power_exact import power_each
from topos.payload.kernels.power_wide import bracket_power, refined_power
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS, Format

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
    with np.errstate(all="ignore"):
        square = second.size > 0 and second[0] == 2.0 and (second == 2.0).all()
        result = _squared(first, target) if square else _flat(first, second, target)
    return result.reshape(bases.shape)


def _squared(bases: Array, target: Format) -> Array:
    # The commonest power, and full of midpoints: one IEEE product is its correct rounding. The
    # squares of 16-bit numbers are exact in float64.
    if target in (BINARY64, BINARY32):
        return canonical(bases * bases)
    wide = bases.astype(np.float64)
    return canonical(narrowed(wide * wide, target))


def _flat(bases: Array, exponents: Array, target: Format) -> Array:
    result = np.empty(bases.size, target.dtype)
    pending: list[Array] = []
    for start in range(0, bases.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        low, high = _bracket(bases[chunk], exponents[chunk], target)
        result[chunk] = low
        open_lanes = low != high
        if open_lanes.any():
            pending.append(np.flatnonzero(open_lanes) + start)
    if pending:
        _settle(bases, exponents, result, np.concatenate(pending), target)
    return result


def _bracket(bases: Array, exponents: Array, target: Format) -> Ends:
    """Encloses the powers, both ends rounded to `target`; a NaN power has a NaN there."""
    if target is BINARY64:
        return bracket_power(bases, exponents)
    estimate = np.power(bases.astype(np.float64), exponents.astype(np.float64))
    return narrowed(estimate * _LOW, target), narrowed(estimate * _HIGH, target)


def _settle(bases: Array, exponents: Array, result: Array, lanes: Array, target: Format) -> None:
    """Writes the final bits of the lanes that no enclosure decided."""
    # Libraries differ in whether a signalling NaN has these powers; the standard says 1.
    one = (bases[lanes] == 1.0) | (exponents[lanes] == 0.0)
    result[lanes[one]] = 1.0
    canonical(result)
    lanes = lanes[result[lanes] == result[lanes]]
    if target is BINARY64:
        lanes = refine(refined_power, (bases, exponents), result, lanes)
    if lanes.size:
        base, exponent = bases[lanes].astype(np.float64), exponents[lanes].astype(np.float64)
        result[lanes] = power_each(base, exponent, target)
