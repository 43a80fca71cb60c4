"""Elimination: Gauss's with pivoting and Cholesky's; triangular systems by substitution."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_arithmetic import product, quotient

# From this size on, the products of blocks outweigh the calls.
_ROWS: Final = 32


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
    if not blocked or extent <= _ROWS:
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


# From this many columns on, the products of blocks outweigh the calls.
_BLOCK: Final = 16


def eliminated(matrix: Array, blocked: bool) -> tuple[Array, Array, int]:
    """Returns L and U in one `[m, n]` array, the rows swapped, and the first zero pivot.

    L has a unit diagonal, which is not stored. The rows swapped with the first ones in turn, and
    the pivot, count from one; the pivot is 0 where there is no zero on U's diagonal. Each
    element subtracts its products one by one; where `blocked`, numpy sums those of blocks.
    """
    work = np.array(matrix)
    swaps = np.arange(min(work.shape), dtype=np.int32)
    (_eliminate if blocked else _eliminate_columns)(work, swaps)
    zeros = np.flatnonzero(np.diagonal(work) == 0)
    return work, swaps + np.int32(1), int(zeros[0]) + 1 if zeros.size else 0


def _eliminate(work: Array, swaps: Array) -> None:
    """Factors `work` in place by halves of its columns, and writes the rows swapped."""
    pivots = len(swaps)
    if pivots <= _BLOCK:
        _eliminate_columns(work, swaps)
        return
    half = pivots // 2
    left, right = work[:, :half], work[:, half:]
    _eliminate(left, swaps[:half])
    _swap(right, swaps[:half])
    right[:half] = solved(
        left[:half],
        right[:half],
        left=True,
        lower=True,
        unit=True,
        transpose="NO_TRANSPOSE",
        blocked=True,
    )
    right[half:] -= left[half:] @ right[:half]
    _eliminate(right[half:], swaps[half:])
    _swap(left[half:], swaps[half:])
    swaps[half:] += half


def _eliminate_columns(work: Array, swaps: Array) -> None:
    for place in range(len(swaps)):
        column = work[place:, place]
        # LAPACK compares complex numbers by the sum of their parts.
        size = np.abs(column.real) + np.abs(column.imag)
        chosen = place + int(np.argmax(size))
        swaps[place] = chosen
        work[[place, chosen]] = work[[chosen, place]]
        if work[place, place] == 0:
            continue
        work[place + 1 :, place] = quotient(work[place + 1 :, place], work[place, place])
        work[place + 1 :, place + 1 :] -= product(
            work[place + 1 :, place, None], work[place, place + 1 :]
        )


def _swap(rows: Array, swaps: Array) -> None:
    for place, chosen in enumerate(swaps.tolist()):
        if chosen != place:
            rows[[place, chosen]] = rows[[chosen, place]]


def tridiagonal(below: Array, diagonal: Array, above: Array, sides: Array) -> tuple[Array, int]:
    """Returns the x of a x = b for a matrix of three bands, and the first zero pivot or 0.

    `below` and `above` are the bands beside the diagonal, one element shorter than it. Where a
    pivot is zero, what remains is of no meaning.
    """
    extent = len(diagonal)
    # Three bands become upper triangular with two bands above the diagonal.
    rows = np.zeros((extent, 3), diagonal.dtype)
    rows[:, 0], rows[:-1, 1] = diagonal, above
    result = np.array(sides)
    for place in range(extent - 1):
        first, second = rows[place].copy(), np.array([below[place], *rows[place + 1, :2]])
        if _size(second[0]) > _size(first[0]):
            first, second = second, first
            result[[place, place + 1]] = result[[place + 1, place]]
        if first[0] == 0:
            return result, place + 1
        factor = quotient(second[:1], first[:1])
        rows[place] = first
        rows[place + 1] = (*(second[1:] - product(factor, first[1:])), 0)
        result[place + 1] -= product(factor, result[place])
    if extent and rows[-1, 0] == 0:
        return result, extent
    for place in reversed(range(extent)):
        for beyond, row in enumerate(result[place + 1 : place + 3], start=1):
            result[place] -= product(rows[place, beyond], row)
        result[place] = quotient(result[place], rows[place, 0])
    return result, 0


def _size(number: Any) -> float:
    return float(abs(number.real) + abs(number.imag))


def factored(matrix: Array, blocked: bool) -> tuple[Array, Array]:
    """Returns the lower factors of `[..., n, n]`, of which only the lower triangle is read.

    The second result is 0 for each matrix that is positive definite, else the order of the first
    leading part that is not; its factor is then of no meaning. Imaginary parts on the diagonal
    are taken for zero. Each element subtracts its products one by one; where `blocked`, LAPACK
    factors what it can.
    """
    if blocked:
        try:
            return np.linalg.cholesky(matrix), np.zeros(matrix.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            # One of them is not positive definite, and numpy does not say which.
            return _factored(matrix)
    return _factored(matrix)


def _factored(matrix: Array) -> tuple[Array, Array]:
    work = np.tril(matrix)
    failed = np.zeros(matrix.shape[:-2], np.int32)
    for row in range(matrix.shape[-1]):
        pivot = work[..., row, row].real
        # A pivot that is not a number fails too.
        failed = np.where((failed == 0) & ~(pivot > 0), np.int32(row + 1), failed)
        root = np.sqrt(pivot)
        work[..., row, row] = root
        work[..., row + 1 :, row] = quotient(work[..., row + 1 :, row], root[..., None])
        column = work[..., row + 1 :, row]
        work[..., row + 1 :, row + 1 :] -= product(
            column[..., :, None], np.conjugate(column)[..., None, :]
        )
    return np.tril(work), failed
