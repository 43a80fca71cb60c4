"""Power: one tensor raised to another, correctly rounded in every element.

At one pair of numbers the power is computed by integer arithmetic, where no bracket decides it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError
from topos.payload.kernels.canonical import Array, canonical
from topos.payload.kernels.conversion import convert
from topos.payload.kernels.exact import decided, dyadic, logarithm_of
from topos.payload.kernels.exact_series import exponential, shifted
from topos.payload.kernels.mapping import low_ends, near_ends, settle
from topos.payload.kernels.power_wide import bracket_power, refined_power
from topos.payload.kernels.rounding import BINARY32, BINARY64, FORMATS, Format, nearest

# numpy's float64 power is trusted to 2**-44, relatively.
_ERROR: Final = 2.0**-44


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
    return convert(wide * wide, target.dtype)


def _flat(bases: Array, exponents: Array, target: Format) -> Array:
    both, wide = (bases, exponents), target is BINARY64
    result = np.empty(bases.size, target.dtype)
    if wide:
        lanes = low_ends(bracket_power, both, result)
    else:
        lanes = near_ends(np.power, both, result, _ERROR)
    # Libraries differ in whether a signalling NaN has these powers; the standard says 1.
    result[lanes[(bases[lanes] == 1.0) | (exponents[lanes] == 0.0)]] = 1.0
    exactly = partial(_power_each, target)
    settle(exactly, both, result, lanes, refined_power if wide else None)
    return result


def _power_each(target: Format, bases: Array, exponents: Array) -> Array:
    """Returns the powers of float64 pairs (one axis), each distinct pair computed once."""
    first, first_place = np.unique(bases.view(np.uint64), return_inverse=True)
    second, second_place = np.unique(exponents.view(np.uint64), return_inverse=True)
    pairs, inverse = np.unique(first_place * second.size + second_place, return_inverse=True)
    base = first[pairs // second.size].view(np.float64).tolist()
    exponent = second[pairs % second.size].view(np.float64).tolist()
    results = [power_at(x, y, target) for x, y in zip(base, exponent, strict=True)]
    return np.array(results, np.float64)[inverse].astype(target.dtype)


def power_at(base: float, exponent: float, target: Format) -> float:
    """Returns base**exponent correctly rounded to `target`, special cases as `pow` of C99."""
    if exponent == 0.0 or base == 1.0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent):
        return math.nan
    if math.isinf(exponent):
        return _at_infinite_exponent(abs(base), exponent)
    odd = exponent % 2.0 == 1.0
    if base == 0.0 or math.isinf(base):
        vanishes = (base == 0.0) == (exponent > 0.0)
        return math.copysign(0.0 if vanishes else math.inf, base if odd else 1.0)
    if base < 0.0 and not exponent.is_integer():
        return math.nan
    magnitude = 1.0 if base == -1.0 else _magnitude(abs(base), exponent, target)
    return -magnitude if base < 0.0 and odd else magnitude


def _at_infinite_exponent(magnitude: float, exponent: float) -> float:
    if magnitude == 1.0:
        return 1.0
    return math.inf if (magnitude > 1.0) == (exponent > 0.0) else 0.0


def _magnitude(base: float, exponent: float, target: Format) -> float:
    integer, scale = dyadic(base)
    size = exponent * (math.log2(integer) + scale)
    # Beyond these powers of two every format overflows or rounds to zero.
    if size > 1100.0:
        return math.inf
    if size < -1200.0:
        return 0.0
    whole = _dyadic_power(integer, scale, *dyadic(exponent))
    if whole is not None:
        return nearest(*whole, target)
    return decided(lambda places: _enclosure(integer, scale, exponent, places), target)


def _dyadic_power(integer: int, scale: int, number: int, places: int) -> tuple[int, int] | None:
    """Returns (integer * 2**scale)**(number * 2**places) where it is a short binary fraction.

    Only these can be numbers or midpoints of a format, so all other powers round decidedly.
    An odd integer has a dyadic root only where it is a square as often as the root asks.
    """
    while places < 0:
        root = math.isqrt(integer)
        if scale & 1 or root * root != integer:
            return None
        integer, scale, places = root, scale >> 1, places + 1
    whole = number << places
    if integer == 1:
        return 1, scale * whole
    if whole < 0 or whole * (integer.bit_length() - 1) > 64:
        return None
    return integer**whole, scale * whole


def _enclosure(integer: int, scale: int, exponent: float, places: int) -> tuple[int, int]:
    # The product is below 2**10, so forty places more leave less than a unit of error in it.
    logarithm, unit = logarithm_of(integer, scale, places + 40)
    number, binary = dyadic(exponent)
    argument = shifted(number * logarithm, unit + binary + places + 24)
    scaled, power = exponential(argument, places)
    return scaled, power - places
