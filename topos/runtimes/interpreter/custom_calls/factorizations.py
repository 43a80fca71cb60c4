"""LAPACK's factorizations and solvers: potrf, getrf, geqrf, orgqr, ormqr, trsm and gtsv.

A QR factorization is stored as elementary reflectors, whose product is Q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.call import CustomCall, Target, failure
from topos.runtimes.interpreter.custom_calls.elimination import (
    adjoint,
    eliminated,
    factored,
    solved,
    tridiagonal,
)
from topos.runtimes.interpreter.custom_calls.lapack import flag, routines
from topos.runtimes.interpreter.special.complex_arithmetic import product, quotient, total

_TRANSPOSES: Final = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _potrf(call: CustomCall, matrix: Array) -> tuple[Array, Array]:
    lower = flag(call, "uplo") == "L"
    factor, failed = factored(matrix if lower else adjoint(matrix), not call.exact)
    if not lower:
        factor = adjoint(factor)
    # The other triangle is left as it was.
    kept = np.triu(matrix, 1) if lower else np.tril(matrix, -1)
    return factor + kept, failed


def _geqrf(call: CustomCall, matrix: Array) -> tuple[Array, Array]:
    if call.exact:
        return householder(matrix)
    turned, scales = np.linalg.qr(matrix, mode="raw")
    return turned.T, scales


def _orgqr(call: CustomCall, vectors: Array, scales: Array) -> tuple[Array]:
    _demand_vectors(call, vectors, scales)
    identity = np.eye(*vectors.shape, dtype=vectors.dtype)
    return (reflected(vectors, scales, identity, adjoint=False, exact=call.exact),)


def _ormqr(call: CustomCall, vectors: Array, scales: Array, matrix: Array) -> tuple[Array]:
    _demand_vectors(call, vectors, scales)
    transpose, left = call.configuration["transpose"], call.configuration["left"]
    _demand_extent(call, len(vectors), matrix, left)
    if left:
        return (reflected(vectors, scales, matrix, adjoint=transpose, exact=call.exact),)
    # C Q is the adjoint of the product of Q's adjoint and C's.
    turned = reflected(vectors, scales, adjoint(matrix), adjoint=not transpose, exact=call.exact)
    return (adjoint(turned),)


def _demand_vectors(call: CustomCall, vectors: Array, scales: Array) -> None:
    most = min(vectors.shape)
    if len(scales) > most:
        raise failure(call, f"needs at most {most} scales, got {len(scales)}")


def _demand_extent(call: CustomCall, extent: int, matrix: Array, left: bool) -> None:
    if matrix.shape[0 if left else 1] != extent:
        needs = f"{extent} {'rows' if left else 'columns'} to multiply or solve"
        raise failure(call, f"needs {needs}, got a matrix of shape {list(matrix.shape)}")


def _trsm(call: CustomCall, matrix: Array, sides: Array) -> tuple[Array]:
    left = flag(call, "side") == "L"
    _demand_extent(call, len(matrix), sides, left)
    solution = solved(
        matrix,
        sides,
        left=left,
        lower=flag(call, "uplo") == "L",
        unit=flag(call, "diag") == "U",
        transpose=_TRANSPOSES[flag(call, "trans_x")],
        blocked=not call.exact,
    )
    return (solution,)


def _gtsv(
    call: CustomCall, below: Array, diagonal: Array, above: Array, sides: Array
) -> tuple[Array, ...]:
    # The bands are as long as the diagonal; the first of one and the last of the other are unused.
    solution, failed = tridiagonal(below[1:], diagonal, above[:-1], sides)
    # The bands hold the eliminated system afterwards, which nothing reads.
    return below, diagonal, above, solution, np.asarray(failed)


_LEFT: Final = {"left": bool, "transpose": bool}
_SIDES: Final = {"side": "LR", "uplo": "LU", "diag": "NU", "trans_x": "NTC"}


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


def householder(matrix: Array) -> tuple[Array, Array]:
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


TARGETS: Final[Mapping[str, Target]] = {
    **routines(("potrf", "potrf"), _potrf, "Tnn", "Tnn I", {"uplo": "LU"}),
    **routines(
        ("getrf", "getrf"),
        lambda call, matrix: eliminated(matrix, not call.exact),
        "Tmn",
        "Tmn Ik I",
    ),
    **routines(("geqrf", "geqrf"), _geqrf, "Tmn", "Tmn Tk"),
    **routines(("orgqr", "ungqr"), _orgqr, "Tmn Tl", "Tmn"),
    **routines(("ormqr", "unmqr"), _ormqr, "Tml Tl Tpq", "Tpq", _LEFT),
    **routines(("trsm", "trsm"), _trsm, "Tnn Tpq", "Tpq", _SIDES),
    **routines(("gtsv", "gtsv"), _gtsv, "Tn Tn Tn Tnp", "Tn Tn Tn Tnp I"),
}
