"""LAPACK's singular values and eigenvalues: gesdd, gesvd, syevd and geev.

A problem that LAPACK does not solve, or that holds numbers that are not finite, yields NaN and a
code other than 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.custom_calls.call import CustomCall, CustomKernel
from topos.runtimes._stablehlo.custom_calls.foreign import foreign
from topos.runtimes._stablehlo.custom_calls.lapack import flag, routines

__all__ = ["TARGETS"]

Array = npt.NDArray[Any]

_FAILED: Final = 1


def _gesdd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    mode = flag(call, "mode")
    try:
        if mode == "N":
            return matrix, np.linalg.svd(matrix, compute_uv=False), 0, 0, 0
        left, values, right = np.linalg.svd(matrix, full_matrices=mode == "A")
    except np.linalg.LinAlgError:
        return matrix, np.nan, np.nan, np.nan, _FAILED
    return matrix, values, left, right, 0


def _syevd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    triangle = "L" if flag(call, "uplo") == "L" else "U"
    try:
        if flag(call, "mode") == "N":
            return matrix, np.linalg.eigvalsh(matrix, triangle), 0
        values, vectors = np.linalg.eigh(matrix, triangle)
    except np.linalg.LinAlgError:
        return np.nan, np.nan, _FAILED
    return vectors, values, 0


def _geev(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    sides = [flag(call, f"compute_{side}") == "V" for side in ("left", "right")]
    try:
        values, left, right = _eigenvectors(matrix, *sides)
        code = 0
    except np.linalg.LinAlgError:
        values, left, right = np.full(len(matrix), np.nan), np.nan, np.nan
        code = _FAILED
    if np.iscomplexobj(matrix):
        return values, left, right, code
    return values.real, values.imag, left, right, code


def _eigenvectors(matrix: Array, left: bool, right: bool) -> tuple[Array, Any, Any]:
    if not np.isfinite(matrix).all():
        raise np.linalg.LinAlgError
    if left:
        # numpy computes no eigenvectors of the left.
        values, *vectors = foreign("scipy.linalg").eig(matrix, left=True, right=True)
        return values, vectors[0], vectors[1] if right else 0
    if right:
        values, vectors_right = np.linalg.eig(matrix)
        return values, 0, vectors_right
    return np.linalg.eigvals(matrix), 0, 0


TARGETS: Final[Mapping[str, CustomKernel]] = {
    **routines("gesdd", _gesdd),
    **routines("gesvd", _gesdd),
    **routines("syevd", _syevd, "heevd"),
    **routines("geev", _geev),
}
