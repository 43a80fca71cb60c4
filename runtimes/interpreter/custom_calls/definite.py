"""Cholesky's factorization over stacks of matrices, and where it fails."""

from __future__ import annotations

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.elements import product, quotient

__all__ = ["factored"]


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
            return _eliminated(matrix)
    return _eliminated(matrix)


def _eliminated(matrix: Array) -> tuple[Array, Array]:
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
