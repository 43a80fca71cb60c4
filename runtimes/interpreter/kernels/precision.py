"""Reduced precision: numbers rounded to a format of fewer exponent and mantissa bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.conversion import convert
from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.small import SMALL_FLOATS
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS", "ELEMENTWISE"]

Array = npt.NDArray[Any]
# The mantissa bits of each width's format; bf16 is the upper half of a float32.
_MANTISSA: Final = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


def _reduce_precision(context: BuildContext) -> Kernel:
    exponent, mantissa = context.integer("exponent_bits"), context.integer("mantissa_bits")
    (operand,) = context.operands
    if operand.element not in SMALL_FLOATS:
        return partial(_reduced, exponent, mantissa)
    return partial(_through_wide, exponent, mantissa, SMALL_FLOATS[operand.element])


def _through_wide(exponent: int, mantissa: int, wide: np.dtype[Any], array: Array) -> Array:
    dtype = array.dtype
    return convert(_reduced(exponent, mantissa, array.astype(wide)), dtype)


def _reduced(exponent: int, mantissa: int, array: Array) -> Array:
    """Returns the numbers rounded to nearest, ties to even, in their own format.

    Past the largest exponent they are infinite, below the smallest normal one zero. NaN stays; a
    format without a mantissa has none, and it becomes positive infinity.
    """
    unsigned = np.dtype(f"u{array.dtype.itemsize}")
    total = 8 * unsigned.itemsize
    fraction = _MANTISSA[array.dtype.name]
    sign = unsigned.type(1 << (total - 1))
    infinity = unsigned.type(((1 << (total - 1 - fraction)) - 1) << fraction)
    bits = array.view(unsigned)
    magnitude = bits & ~sign
    result = _rounded(magnitude, fraction - mantissa) if mantissa < fraction else magnitude
    if exponent < total - 1 - fraction:
        result = _confined(result, exponent, total - 1 - fraction, fraction, infinity)
    nothing = bits if mantissa else infinity
    result = np.where(magnitude > infinity, nothing, result | (bits & sign))
    return np.asarray(result).view(array.dtype)


def _rounded(magnitude: Array, dropped: int) -> Array:
    """Returns the patterns without their `dropped` last bits; a carry reaches the exponent."""
    one = magnitude.dtype.type(1)
    last = (magnitude >> magnitude.dtype.type(dropped)) & one
    carried = magnitude + last + magnitude.dtype.type((1 << (dropped - 1)) - 1)
    return np.asarray(carried & ~magnitude.dtype.type((1 << dropped) - 1))


def _confined(magnitude: Array, exponent: int, whole: int, fraction: int, infinity: Any) -> Array:
    bias, reduced_bias = (1 << (whole - 1)) - 1, (1 << (exponent - 1)) - 1
    unsigned = magnitude.dtype.type
    smallest = unsigned((bias - reduced_bias + 1) << fraction)
    beyond = unsigned((bias + reduced_bias + 1) << fraction)
    kept = np.where(magnitude < smallest, unsigned(0), magnitude)
    return np.where(magnitude >= beyond, infinity, kept)


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.reduce_precision": _reduce_precision}
