"""Elementwise arithmetic: the IEEE operations, one rounding each.

Operands have one dtype and shapes that broadcast. Floats round to nearest, ties to even, and
keep subnormal numbers; a NaN result is the canonical one. The 16-bit floats compute in float32
and round once more.
"""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import LAYOUTS, Array
from topos.payload.kernels.conversion import promoted, rounded

# Of the 16-bit floats the float32 result is rounded once more. For these operations that is the
# same as one rounding, since 24 bits are at least twice 11 and two (Figueroa, When is double
# rounding innocuous?, 1995).


@np.errstate(all="ignore")
def add(left: Array, right: Array) -> Array:
    """Returns `left + right`; integers wrap."""
    return rounded(np.add(promoted(left), promoted(right)), left.dtype)


@np.errstate(all="ignore")
def subtract(left: Array, right: Array) -> Array:
    """Returns `left - right`; integers wrap."""
    return rounded(np.subtract(promoted(left), promoted(right)), left.dtype)


@np.errstate(all="ignore")
def multiply(left: Array, right: Array) -> Array:
    """Returns `left * right`; integers wrap."""
    return rounded(np.multiply(promoted(left), promoted(right)), left.dtype)


@np.errstate(all="ignore")
def divide(left: Array, right: Array) -> Array:
    """Returns `left / right` of floats; a finite number over zero is an infinity."""
    return rounded(np.divide(promoted(left), promoted(right)), left.dtype)


@np.errstate(all="ignore")
def negate(array: Array) -> Array:
    """Returns `-array`: of a float, NaN included, only the sign bit changes; integers wrap."""
    layout = LAYOUTS.get(array.dtype)
    if layout is None:
        return np.asarray(np.negative(array))
    return np.asarray((array.view(layout.unsigned) ^ layout.sign).view(array.dtype))


@np.errstate(all="ignore")
def absolute(array: Array) -> Array:
    """Returns the magnitude: of a float, NaN included, only the sign bit changes; integers wrap."""
    layout = LAYOUTS.get(array.dtype)
    if layout is None:
        return np.asarray(np.absolute(array))
    return np.asarray((array.view(layout.unsigned) & ~layout.sign).view(array.dtype))


def maximum(left: Array, right: Array) -> Array:
    """Returns the greater operand: NaN where either is NaN, -0 below +0, or of truth values."""
    return _extreme(left, right, np.maximum, np.bitwise_and, np.bitwise_or)


def minimum(left: Array, right: Array) -> Array:
    """Returns the lesser operand: NaN where either is NaN, -0 below +0, and of truth values."""
    return _extreme(left, right, np.minimum, np.bitwise_or, np.bitwise_and)


@np.errstate(all="ignore")
def _extreme(
    left: Array, right: Array, choose: np.ufunc, signs_of: np.ufunc, masked: np.ufunc
) -> Array:
    first, second = promoted(left), promoted(right)
    extreme = np.asarray(choose(first, second))
    layout = LAYOUTS.get(first.dtype)
    if layout is None:
        return extreme
    # Which of two unlike zeros numpy returns depends on the length and the processor. The sign of
    # a maximum is set only where both signs are, that of a minimum where either is, which is also
    # so for all other numbers.
    signs = np.asarray(signs_of(first.view(layout.unsigned), second.view(layout.unsigned)))
    sign = layout.sign if choose is np.minimum else ~layout.sign
    bits = extreme.view(layout.unsigned)
    signs_of(bits, masked(signs, sign, out=signs), out=bits)
    return rounded(extreme, left.dtype)


@np.errstate(all="ignore")
def step(left: Array, threshold: Array) -> Array:
    """Returns 1 where `left >= threshold`, 0 elsewhere and at NaN, in the operands' own dtype."""
    return np.asarray(promoted(left) >= promoted(threshold)).astype(left.dtype)
