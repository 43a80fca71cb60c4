"""Triangular systems: substitution over stacks of matrices."""

from __future__ import annotations

from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.elements import product, quotient

__all__ = ["adjoint", "solved"]


# From this size on, the products of blocks outweigh the calls.
_BLOCK: Final = 32


def adjoint(matrix: Array, conjugate: bool = True) -> Array:
    """Returns the transposes of `[..., n, m]`, conjugated unless told otherwise."""
    turned = np.swapaxes(matrix, -1, -2)
    return np.conjugate(turned) if conjugate else turned


def solved(
    matrix: Array,
    sides: Array,
    *,
    left: bool,
    lower: bool,
    unit: bool,
    transpose: str,
    blocked: bool,
) -> Array:
    """Returns the x of op(a) x = b, or of x op(a) = b where `left` is false.

    `matrix` is a, `[..., n, n]`, of which only one triangle is read, `sides` is b. op is that of
    `transpose`: NO_TRANSPOSE, TRANSPOSE or ADJOINT. Each element subtracts its products one by
    one from the first solved row on; where `blocked`, they are summed in numpy's order instead. A
    zero on the diagonal divides.
    """
    if transpose != "NO_TRANSPOSE":
        matrix, lower = adjoint(matrix, transpose == "ADJOINT"), not lower
    if left:
        return _solved(matrix, sides, lower, unit, blocked)
    turned = _solved(adjoint(matrix, False), adjoint(sides, False), not lower, unit, blocked)
    return adjoint(turned, False)


def _solved(matrix: Array, sides: Array, lower: bool, unit: bool, blocked: bool) -> Array:
    extent = matrix.shape[-1]
    if not blocked or extent <= _BLOCK:
        return _substituted(matrix, sides, lower, unit, blocked)
    ends = (slice(0, extent // 2), slice(extent // 2, extent))
    first, second = ends if lower else ends[::-1]
    result = np.empty(sides.shape, sides.dtype)
    result[..., first, :] = _solved(
        matrix[..., first, first], sides[..., first, :], lower, unit, True
    )
    rest = sides[..., second, :] - matrix[..., second, first] @ result[..., first, :]
    result[..., second, :] = _solved(matrix[..., second, second], rest, lower, unit, True)
    return result


def _substituted(matrix: Array, sides: Array, lower: bool, unit: bool, loose: bool) -> Array:
    result = np.array(sides)
    times, over = (np.multiply, np.divide) if loose else (product, quotient)
    extent = matrix.shape[-1]
    for row in range(extent) if lower else reversed(range(extent)):
        if not unit:
            result[..., row, :] = over(result[..., row, :], matrix[..., row, row, None])
        rest = slice(row + 1, extent) if lower else slice(0, row)
        result[..., rest, :] -= times(matrix[..., rest, row, None], result[..., row, None, :])
    return result
