"""Integers and bits: arithmetic that wraps, logic, shifts, counts, other readings of the bits.

Many kernels differ from numpy's function of the same name.
"""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.kernels.conversion import (
    NARROW_INTEGERS,
    SMALL_FLOATS,
    narrow,
    of_bits,
    through_float,
)
from topos.runtimes.interpreter.program import Array, Kernel, Kernels, Shape
from topos.stablehlo.dialect import bits as dialect
from topos.stablehlo.dialect import chlo_functions, elementwise
from topos.stablehlo.types import ELEMENTS, dtype_of, extents, width


def _divide(left: Array, right: Array) -> Array:
    """Returns the quotient truncated toward zero; over zero it is -1, all bits set.

    The least integer over -1 is itself. The standard leaves both cases open; these are XLA's.
    """
    if np.count_nonzero(right) == right.size:
        return _quotient(left, right)
    none = np.equal(right, 0)
    quotient = _quotient(left, np.where(none, right.dtype.type(1), right))
    return np.where(none, np.invert(np.zeros_like(left)), quotient)


def _quotient(left: Array, right: Array) -> Array:
    """Returns the quotient truncated toward zero by what is nowhere zero."""
    if left.dtype.itemsize <= 4:
        return _short_quotient(left, right)
    floored = np.asarray(np.floor_divide(left, right))
    if left.dtype.kind == "u" or (left.min(initial=0) >= 0 and right.min(initial=0) >= 0):
        return floored
    # Rounding down is one below truncation where the signs differ and something is left. Each
    # array of the size of the operands that is not made anew saves as much as a division.
    spare = np.asarray(np.multiply(floored, right))
    below = np.asarray(np.not_equal(spare, left))
    below &= np.bitwise_xor(left, right, out=spare) < 0
    floored += below
    return floored


def _short_quotient(left: Array, right: Array) -> Array:
    # A quotient of n bits is no nearer than 2**-(n - 1) to the next integer, which a float of n
    # bits more in its fraction tells.
    wide, whole = (np.float64, np.int64) if left.dtype.itemsize == 4 else (np.float32, np.int32)
    exact = np.divide(left, right, dtype=wide)
    return np.asarray(exact.astype(whole).astype(left.dtype))


def _remainder(left: Array, right: Array) -> Array:
    """Returns what truncating division leaves, with the sign of `left`; over zero, `left`."""
    rest = np.asarray(np.fmod(left, right))
    if np.count_nonzero(right) < right.size:
        np.copyto(rest, left, where=np.equal(right, 0))
    return rest


def _power(base: Array, exponent: Array) -> Array:
    """Returns the wrapped power; with a negative exponent, the reciprocal truncated toward zero.

    Zero to a negative exponent has no reciprocal and gives 0.
    """
    negative = np.less(exponent, 0)
    if not np.any(negative):
        return np.asarray(np.power(base, exponent))
    raised = np.power(base, np.where(negative, base.dtype.type(0), exponent))
    odd = np.bitwise_and(exponent, base.dtype.type(1)) != 0
    unit = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0))
    return np.where(negative, unit.astype(base.dtype), raised)


def _leading_zeros(array: Array, unused: int = 0) -> Array:
    """Returns how many bits stand above the highest one that is set, `unused` ones left out."""
    width = 8 * array.dtype.itemsize
    bits = array.view(f"u{array.dtype.itemsize}")
    # Smearing the highest bit downward leaves as many set bits as the number is long.
    step = 1
    while step < width:
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    count = width - unused - np.bitwise_count(bits).astype(np.int64)
    return np.asarray(count).astype(array.dtype)


def _population(array: Array) -> Array:
    """Returns how many bits are set."""
    # numpy counts the bits of a signed number's magnitude, so the bits are read as unsigned.
    count = np.bitwise_count(array.view(f"u{array.dtype.itemsize}"))
    return np.asarray(count.astype(array.dtype))


KERNELS: Final[Kernels] = {
    chlo_functions.Square: np.square,
    elementwise.Abs: np.absolute,
    elementwise.Add: np.add,
    elementwise.Divide: _divide,
    elementwise.Maximum: np.maximum,
    elementwise.Minimum: np.minimum,
    elementwise.Multiply: np.multiply,
    elementwise.Negate: np.negative,
    elementwise.Power: _power,
    elementwise.Remainder: _remainder,
    elementwise.Sign: np.sign,
    elementwise.Subtract: np.subtract,
}


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
    dialect.CountLeadingZeros: _leading_zeros,
    dialect.Popcnt: _population,
    dialect.ShiftRightLogical: partial(_shift_right, "u"),
}


def _bitwise(context: BuildContext[Any]) -> Kernel:
    element, kind = context.operands[0].element, type(context.op)
    kernel = _SIGNED.get(kind) or _UNSIGNED[kind]
    if element not in NARROW_INTEGERS:
        return kernel
    if kind is dialect.CountLeadingZeros:
        kernel = partial(_leading_zeros, unused=8 - width(element))
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
