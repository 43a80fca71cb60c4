"""The kernels of integer elements, many of which differ from numpy's of the same name."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.runtimes.interpreter.program import Array, Kernels
from topos.stablehlo.dialect import chlo_functions, elementwise

__all__ = ["KERNELS", "leading_zeros", "population"]


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


def leading_zeros(array: Array, unused: int = 0) -> Array:
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


def population(array: Array) -> Array:
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
