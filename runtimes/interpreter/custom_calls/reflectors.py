"""Elementary reflectors: the products that a QR factorization is stored as."""

from __future__ import annotations

from typing import Any

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.special.complex_arithmetic import product, quotient, total

__all__ = ["factored", "reflected"]


def reflected(vectors: Array, scales: Array, matrix: Array, *, adjoint: bool, exact: bool) -> Array:
    """Returns Q times `matrix`, or its adjoint times it, `[m, n]`.

    Q is the product H1 H2 ... of Hi = 1 - t v v^H, where t is an element of `scales` and v a
    column of `vectors`, `[m, k]`, with one on the diagonal and zeros above (LAPACK Users' Guide,
    section 5.4). Where `exact`, v^H times a column is the oracle's sum, a tree of halves.
    """
    result = np.array(matrix)
    count = len(scales)
    # The reflector nearest to the matrix comes first.
    for place in range(count) if adjoint else reversed(range(count)):
        vector = np.array(vectors[place:, place])
        vector[:1] = 1
        scale = np.conjugate(scales[place]) if adjoint else scales[place]
        _reflect(result[place:], vector, scale, exact)
    return result


def _reflect(rows: Array, vector: Array, scale: Any, exact: bool) -> None:
    """Takes t v (v^H rows) off `rows`, in place."""
    if not exact:
        rows -= np.outer(scale * vector, np.conjugate(vector) @ rows)
        return
    along = total(product(np.conjugate(vector)[:, None], rows))
    rows -= product(product(np.asarray(scale), vector)[:, None], along)


def factored(matrix: Array) -> tuple[Array, Array]:
    """Returns R above the vectors of the reflectors, `[m, n]`, and their scales.

    It is Householder's method as LAPACK's geqr2 has it, in double precision, each sum the oracle's
    tree of halves. The diagonal of R is real, of the sign that the column's first element has not.
    """
    work = matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)
    scales = np.zeros(min(work.shape), work.dtype)
    for place in range(len(scales)):
        column = work[place:, place]
        first = column[:1].copy()
        # A power of two keeps the squares in range.
        size = np.ldexp(1.0, np.frexp(np.max(np.abs([column.real, column.imag])))[1])
        rest = quotient(column[1:], np.asarray(size))
        if not rest.any() and not first.imag.any():
            continue
        lead = quotient(first, np.asarray(size))
        parts = np.concatenate([lead.real, lead.imag, rest.real, rest.imag])
        norm = np.sqrt(total(parts * parts)) * size
        diagonal = -np.copysign(norm, first.real)
        scale = quotient(diagonal - first, diagonal)
        scales[place] = scale[0]
        vector = np.concatenate([[1.0], quotient(column[1:], first - diagonal)])
        _reflect(work[place:, place + 1 :], vector, np.conjugate(scale[0]), exact=True)
        column[:1], column[1:] = diagonal, vector[1:]
    return work, scales
