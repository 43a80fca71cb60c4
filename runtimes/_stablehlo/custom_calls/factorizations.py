"""LAPACK's factorizations and solvers: potrf, getrf, geqrf, orgqr, ormqr, trsm and gtsv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.custom_calls.call import CustomCall, CustomKernel
from topos.runtimes._stablehlo.custom_calls.definite import factored
from topos.runtimes._stablehlo.custom_calls.elimination import eliminated, tridiagonal
from topos.runtimes._stablehlo.custom_calls.lapack import flag, routines
from topos.runtimes._stablehlo.custom_calls.reflectors import reflected
from topos.runtimes._stablehlo.custom_calls.triangular import adjoint, solved

__all__ = ["TARGETS"]

Array = npt.NDArray[Any]

_TRANSPOSES: Final = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _potrf(call: CustomCall, matrix: Array) -> tuple[Array, Array]:
    lower = flag(call, "uplo") == "L"
    factor, failed = factored(matrix if lower else adjoint(matrix), True)
    if not lower:
        factor = adjoint(factor)
    # The other triangle is left as it was.
    kept = np.triu(matrix, 1) if lower else np.tril(matrix, -1)
    return factor + kept, failed


def _getrf(call: CustomCall, matrix: Array) -> tuple[Array, Array, int]:
    return eliminated(matrix)


def _geqrf(call: CustomCall, matrix: Array) -> tuple[Array, Array]:
    turned, scales = np.linalg.qr(matrix, mode="raw")
    return turned.T, scales


def _orgqr(call: CustomCall, vectors: Array, scales: Array) -> tuple[Array]:
    identity = np.eye(*vectors.shape, dtype=vectors.dtype)
    return (reflected(vectors, scales, identity, adjoint=False),)


def _ormqr(call: CustomCall, vectors: Array, scales: Array, matrix: Array) -> tuple[Array]:
    transpose = bool(call.configuration["transpose"])
    if call.configuration["left"]:
        return (reflected(vectors, scales, matrix, adjoint=transpose),)
    # C Q is the adjoint of the product of Q's adjoint and C's.
    turned = reflected(vectors, scales, adjoint(matrix), adjoint=not transpose)
    return (adjoint(turned),)


def _trsm(call: CustomCall, matrix: Array, sides: Array) -> tuple[Array]:
    solution = solved(
        matrix,
        sides,
        left=flag(call, "side") == "L",
        lower=flag(call, "uplo") == "L",
        unit=flag(call, "diag") == "U",
        transpose=_TRANSPOSES[flag(call, "trans_x")],
        blocked=True,
    )
    return (solution,)


def _gtsv(
    call: CustomCall, below: Array, diagonal: Array, above: Array, sides: Array
) -> tuple[Array, ...]:
    # The bands are as long as the diagonal; the first of one and the last of the other are unused.
    solution, failed = tridiagonal(below[1:], diagonal, above[:-1], sides)
    # The bands hold the eliminated system afterwards, which nothing reads.
    return below, diagonal, above, solution, np.asarray(failed)


TARGETS: Final[Mapping[str, CustomKernel]] = {
    **routines("potrf", _potrf),
    **routines("getrf", _getrf),
    **routines("geqrf", _geqrf),
    **routines("orgqr", _orgqr, "ungqr"),
    **routines("ormqr", _ormqr, "unmqr"),
    **routines("trsm", _trsm),
    **routines("gtsv", _gtsv),
}
