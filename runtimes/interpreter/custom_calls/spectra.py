"""LAPACK's singular values and eigenvalues: gesdd, gesvd, syevd and geev.

Where scipy is installed it calls the routine itself, so that signs and phases of vectors, which
no rule decides, are jax's; else numpy computes the same values in f64. A problem that LAPACK does
not solve, or that holds numbers that are not finite, yields NaN and a code other than 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.call import CustomCall
from topos.runtimes.interpreter.custom_calls.foreign import optional_scipy, required_scipy
from topos.runtimes.interpreter.custom_calls.forms import Target
from topos.runtimes.interpreter.custom_calls.lapack import flag, routines

__all__ = ["TARGETS"]


_FAILED: Final = 1


def _svd(driver: str, call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    mode = flag(call, "mode")
    options: dict[str, Any] = {"full_matrices": mode == "A", "compute_uv": mode != "N"}
    try:
        _demand_finite(matrix)
        scipy = optional_scipy()
        if scipy is None:
            found = np.linalg.svd(matrix, **options)
        else:
            found = scipy.svd(matrix, check_finite=False, lapack_driver=driver, **options)
    except np.linalg.LinAlgError:
        return np.nan, np.nan, np.nan, np.nan, _FAILED
    left, values, right = (0, found, 0) if mode == "N" else found
    return matrix, values, left, right, 0


def _syevd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    lower = flag(call, "uplo") == "L"
    try:
        _demand_finite(np.tril(matrix) if lower else np.triu(matrix))
        scipy = optional_scipy()
        if scipy is None:
            values, vectors = np.linalg.eigh(matrix, "L" if lower else "U")
        else:
            values, vectors = scipy.eigh(matrix, lower=lower, check_finite=False, driver="evd")
    except np.linalg.LinAlgError:
        return np.nan, np.nan, _FAILED
    return vectors, values, 0


def _geev(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    try:
        _demand_finite(matrix)
        values, left, right = _eigenvectors(call, matrix)
    except np.linalg.LinAlgError:
        unknown = np.full(len(matrix), np.nan)
        values, left, right, code = unknown, np.nan, np.nan, _FAILED
    else:
        code = 0
    if np.iscomplexobj(matrix):
        return values, left, right, code
    return values.real, values.imag, left, right, code


def _eigenvectors(call: CustomCall, matrix: Array) -> tuple[Array, Any, Any]:
    left = flag(call, "compute_left") == "V"
    right = flag(call, "compute_right") == "V"
    # numpy computes no eigenvectors of the left.
    scipy = required_scipy(call.target) if left else optional_scipy()
    if scipy is None:
        values, vectors = np.linalg.eig(matrix)
        return values, 0, vectors if right else 0
    found = scipy.eig(matrix, left=left, right=right, check_finite=False)
    values, *sides = found if left or right else (found,)
    return values, sides[0] if left else 0, sides[-1] if right else 0


def _demand_finite(matrix: Array) -> None:
    if not np.isfinite(matrix).all():
        raise np.linalg.LinAlgError


_VECTORS: Final = {"compute_left": "NV", "compute_right": "NV"}
TARGETS: Final[Mapping[str, Target]] = {
    **routines(
        ("gesdd", "gesdd"), partial(_svd, "gesdd"), "Tmn", "Tmn Rk Tmp Tqn I", {"mode": "ASN"}
    ),
    **routines(
        ("gesvd", "gesvd"), partial(_svd, "gesvd"), "Tmn", "Tmn Rk Tmp Tqn I", {"mode": "ASN"}
    ),
    **routines(("syevd", "heevd"), _syevd, "Tnn", "Tnn Rn I", {"uplo": "LU"}),
    **routines(("geev", "geev"), _geev, "Tnn", ("Rn Rn Cnn Cnn I", "Cn Cnn Cnn I"), _VECTORS),
}
