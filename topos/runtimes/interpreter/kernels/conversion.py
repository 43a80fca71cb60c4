"""Conversion between elements of every kind, also to wider ones and floats to ordered integers.

Floats of eight bits and fewer compute in float32 and round once more; f8E8M0FNU, whose range is
that of float32, in float64. Integers of four bits and two compute in eight and wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.payload.kernels.canonical import canonical, is_float
from topos.payload.kernels.conversion import convert, promoted, rounded
from topos.runtimes.interpreter.context import Builders, unchanged
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.dialect import conversion as dialect
from topos.stablehlo.types import ELEMENTS, dtype_of, width

NARROW_INTEGERS: Final = frozenset({"i4", "i2", "ui4", "ui2"})
# Each with the format it computes in.
SMALL_FLOATS: Final[Mapping[str, np.dtype[Any]]] = {
    **{
        name: np.dtype(np.float32) for name in ELEMENTS if name.startswith("f") and width(name) <= 8
    },
    "f8E8M0FNU": np.dtype(np.float64),
}
# From here on a map is a table of all its values.
_MANY: Final = 512
_CARRIERS: Final = {
    ELEMENTS[name]: np.dtype(np.uint8 if name.startswith("u") else np.int8)
    for name in NARROW_INTEGERS
}


def through_float(kernel: Kernel, element: str, *arrays: Array) -> Array:
    """Returns what `kernel`, of a wide format, makes of the small float `element`."""
    wide, small = SMALL_FLOATS[element], ELEMENTS[element]
    if len(arrays) == 1 and arrays[0].size > _MANY:
        patterns = np.arange(256, dtype=np.uint8).view(small)
        table = through_float(kernel, element, patterns)
        return table.take(arrays[0].view(np.uint8))
    result = np.asarray(kernel(*[array.astype(wide) for array in arrays]))
    return convert(rounded(result, wide), small)


def widened(array: Array) -> Array:
    """Returns integers of fewer than eight bits as those of eight; others as they are."""
    carrier = _CARRIERS.get(array.dtype)
    return array if carrier is None else array.astype(carrier)


def narrow(kernel: Kernel, element: str, *arrays: Array) -> Array:
    """Returns what `kernel`, of eight bits, makes of the integer `element`; the result wraps."""
    return np.asarray(kernel(*map(widened, arrays))).astype(ELEMENTS[element])


def of_bits(kernel: Kernel, element: str, *arrays: Array) -> Array:
    """Returns what `kernel`, of eight unsigned bits, makes of the bits of the integer `element`."""
    mask = np.uint8((1 << width(element)) - 1)
    bits = [widened(array).view(np.uint8) & mask for array in arrays]
    return np.asarray(kernel(*bits)).astype(ELEMENTS[element])


def converter(source: npt.DTypeLike, target: np.dtype[Any]) -> Kernel:
    """Returns the kernel from a dtype to another, each conversion rounded once.

    A float becomes an integer by truncation, saturated at the ends, NaN as 0; an integer a
    narrower one modulo its range; a number true where it is not zero. A complex number loses its
    imaginary part; a real one gains an imaginary part of zero.
    """
    dtype = np.dtype(source)
    if dtype == target:
        return unchanged
    if target == np.bool_:
        return _nonzero
    if target.kind == "c":
        return partial(_to_complex, target)
    if is_float(target):
        return partial(_to_float, target)
    return partial(_to_integer, target)


def converted(array: Array, target: np.dtype[Any]) -> Array:
    """Returns `array` as `target`."""
    result: Array = converter(array.dtype, target)(array)
    return result


def _nonzero(array: Array) -> Array:
    return np.asarray(promoted(_real(array)) != 0)


def _real(array: Array) -> Array:
    return array.real if array.dtype.kind == "c" else widened(array)


def _to_complex(target: np.dtype[Any], array: Array) -> Array:
    part = np.dtype(f"f{target.itemsize // 2}")
    result = np.zeros(array.shape, target)
    if array.dtype.kind == "c":
        result.real, result.imag = array.real, array.imag
        canonical(result.reshape(-1).view(part))
    else:
        result.real = _to_float(part, array)
    return result


def _to_float(target: np.dtype[Any], array: Array) -> Array:
    real = _real(array)
    if real.dtype == target:
        return np.asarray(real)
    if target == np.float32 and real.itemsize < 4 and is_float(real.dtype):
        return canonical(promoted(real))
    if real.dtype == np.uint64 and target.itemsize < 8:
        real = _shortened(real)
    return convert(real, target)


def _shortened(array: Array) -> Array:
    """Returns uint64 elements as float64 on the same side of every number of 42 bits.

    Beyond 2**53 the last bits only say whether any of them was set, as one bit in their place, so
    that the one rounding is that to a shorter float.
    """
    low = array & np.uint64(0xFFF)
    marked = (array - low) | ((low != 0).astype(np.uint64) << np.uint64(11))
    return np.where(array < np.uint64(2**53), array, marked).astype(np.float64)


def _to_integer(target: np.dtype[Any], array: Array) -> Array:
    real, carrier = _real(array), _CARRIERS.get(target, target)
    if not is_float(real.dtype):
        # What is narrower than eight bits takes the low bits of eight.
        return np.asarray(real.astype(carrier)).astype(target, copy=False)
    value = promoted(real)
    limits: Any = ml_dtypes.iinfo(target)  # type: ignore[no-untyped-call]
    # Both ends are powers of two, so a float holds them exactly; the upper one is exclusive.
    least, end = float(limits.min), 2.0 ** int(limits.max).bit_length()
    # A NaN is within no limits.
    if not value.size or (value.min() >= least and value.max() < end):
        return np.asarray(value.astype(carrier)).astype(target, copy=False)
    below, above = value < least, value >= end
    inside = np.where(below | above | np.isnan(value), value.dtype.type(0), value)
    whole = np.asarray(inside.astype(carrier).astype(target, copy=False))
    whole[below], whole[above] = limits.min, limits.max
    return whole


def total_ranks(array: Array) -> Array:
    """Returns floats, by totalOrder -NaN, -inf, ..., -0, +0, ..., inf, NaN, as integers."""
    # A float of fewer than eight bits has its sign elsewhere than its byte has.
    wide = array.astype(np.float32) if array.itemsize == 1 else array
    return _mirrored(wide.view(f"i{wide.itemsize}"))


def extreme_ranks(array: Array, greatest: bool) -> Array:
    """Returns floats as integers by which NaN wins over every number, and -0 lies below +0."""
    ranks, unordered = total_ranks(array), np.isnan(array)
    if unordered.any():
        limits = np.iinfo(ranks.dtype)
        ranks[unordered] = limits.max if greatest else limits.min
    return ranks


def unranked(ranks: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the floats of `dtype` whose ascending ranks by totalOrder are `ranks`."""
    return _mirrored(ranks).view(dtype)


def _mirrored(bits: Array) -> Array:
    # The magnitudes of negative numbers ascend downward: flipping them makes one order.
    # Shifted, the sign is a mask, several times as fast as a choice.
    sign = bits >> (8 * bits.itemsize - 1)
    return np.asarray(bits ^ (sign & np.iinfo(bits.dtype).max))


BUILDERS: Final[Builders] = {
    dialect.Convert: lambda context: converter(
        dtype_of(context.operands[0]), dtype_of(context.results[0])
    ),
}
