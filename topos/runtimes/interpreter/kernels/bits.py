"""Bits: logic, shifts, counts, other readings of the bits and formats of fewer bits."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels import integers
from topos.runtimes.interpreter.kernels.conversion import (
    NARROW_INTEGERS,
    SMALL_FLOATS,
    narrow,
    of_bits,
    through_float,
)
from topos.runtimes.interpreter.program import Array, Kernel, Kernels, Shape
from topos.stablehlo.dialect import bits as dialect
from topos.stablehlo.types import ELEMENTS, dtype_of, extents, width

__all__ = ["BUILDERS"]


def _shift_right(kind: str, array: Array, amount: Array) -> Array:
    dtype = f"{kind}{array.dtype.itemsize}"
    return np.asarray(np.right_shift(array.view(dtype), amount.view(dtype))).view(array.dtype)


# Shifted by their width or more, numbers lose all their bits in numpy as in the standard, where a
# negative amount is a great one. Numbers of fewer than eight bits keep their sign in eight.
_SIGNED: Final[Kernels] = {
    dialect.And: np.bitwise_and,
    dialect.Or: np.bitwise_or,
    dialect.Xor: np.bitwise_xor,
    dialect.Not: np.invert,
    dialect.ShiftLeft: np.left_shift,
    dialect.ShiftRightArithmetic: partial(_shift_right, "i"),
}


# Here the sign would be mistaken for bits.
_UNSIGNED: Final[Kernels] = {
    dialect.CountLeadingZeros: integers.leading_zeros,
    dialect.Popcnt: integers.population,
    dialect.ShiftRightLogical: partial(_shift_right, "u"),
}


def _bitwise(context: BuildContext[Any]) -> Kernel:
    element, kind = context.operands[0].element, type(context.op)
    kernel = _SIGNED.get(kind) or _UNSIGNED[kind]
    if element not in NARROW_INTEGERS:
        return kernel
    if kind is dialect.CountLeadingZeros:
        kernel = partial(integers.leading_zeros, unused=8 - width(element))
    if kind in _UNSIGNED:
        return partial(of_bits, kernel, element)
    # An unsigned number has the sign of its bits where it is shifted arithmetically.
    signed = element.removeprefix("u")
    return partial(_as_signed, partial(narrow, kernel, signed), ELEMENTS[signed])


def _as_signed(kernel: Kernel, signed: np.dtype[Any], *arrays: Array) -> Array:
    result = np.asarray(kernel(*[array.view(signed) for array in arrays]))
    return result.view(arrays[0].dtype)


def _bitcast(context: BuildContext[Any]) -> Kernel:
    (operand,), (result,) = context.operands, context.results
    source, target = width(operand.element), width(result.element)
    if source == target and "i1" not in (operand.element, result.element):
        return methodcaller("view", dtype_of(result))
    if source % 8 or target % 8:
        return partial(_regrouped, source, target, dtype_of(result), extents(result))
    return partial(_recast, dtype_of(result), extents(result))


def _recast(dtype: np.dtype[Any], shape: Shape, array: Array) -> Array:
    """Returns the bytes anew; the lowest ones of a wide element are the first narrow one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(dtype).reshape(shape)


def _regrouped(source: int, target: int, dtype: np.dtype[Any], shape: Shape, array: Array) -> Array:
    """Returns the bits anew where elements that fill no byte are among them, lowest bits first."""
    octets = (
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
    )
    bits = np.unpackbits(octets, axis=1, count=source, bitorder="little")
    grouped = bits.reshape(-1, target)
    packed = np.packbits(grouped, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).reshape(-1).view(dtype).reshape(shape)


# The mantissa bits of each width's format; bf16 is the upper half of a float32.
_MANTISSA: Final = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


def _reduce_precision(context: BuildContext[dialect.ReducePrecision]) -> Kernel:
    exponent, mantissa = context.op.exponent_bits, context.op.mantissa_bits
    reduced, element = partial(_reduced, exponent, mantissa), context.operands[0].element
    return partial(through_float, reduced, element) if element in SMALL_FLOATS else reduced


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


BUILDERS: Final[Builders] = {
    **dict.fromkeys((*_SIGNED, *_UNSIGNED), _bitwise),
    dialect.BitcastConvert: _bitcast,
    dialect.ReducePrecision: _reduce_precision,
}
