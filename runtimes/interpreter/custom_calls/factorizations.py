"""LAPACK's factorizations and solvers: potrf, getrf, geqrf, orgqr, ormqr, trsm and gtsv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
from topos.runtimes.interpreter.custom_calls.reflectors import factored as householder
from topos.runtimes.interpreter.custom_calls.reflectors import reflected

__all__ = ["TARGETS"]


_TRANSPOSES: Final = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _potrf(call: CustomCall, matrix: Array) -> tuple[Array, Array]:
    lower = flag(call, "uplo") == "L"
    factor, failed = factored(matrix if lower else adjoint(matrix), not call.exact)
    if not lower:
        factor = adjoint(factor)
    # The other triangle is left as it was.
    kept = np.triu(matrix, 1) if lower else np.tril(matrix, -1)
    return factor + kept, failed


def _getrf(call: CustomCall, matrix: Array) -> tuple[Array, Array, int]:
    return eliminated(matrix, not call.exact)


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
TARGETS: Final[Mapping[str, Target]] = {
    **routines(("potrf", "potrf"), _potrf, "Tnn", "Tnn I", {"uplo": "LU"}),
    **routines(("getrf", "getrf"), _getrf, "Tmn", "Tmn Ik I"),
    **routines(("geqrf", "geqrf"), _geqrf, "Tmn", "Tmn Tk"),
    **routines(("orgqr", "ungqr"), _orgqr, "Tmn Tl", "Tmn"),
    **routines(("ormqr", "unmqr"), _ormqr, "Tml Tl Tpq", "Tpq", _LEFT),
    **routines(("trsm", "trsm"), _trsm, "Tnn Tpq", "Tpq", _SIDES),
    **routines(("gtsv", "gtsv"), _gtsv, "Tn Tn Tn Tnp", "Tn Tn Tn Tnp I"),
}
