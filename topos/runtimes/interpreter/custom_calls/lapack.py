"""LAPACK's calling convention, its spectra, and the reductions to them or that numpy lacks.

A routine takes the call and the matrices and vectors of one place of the batch, and returns one
array a result. LAPACK reads a matrix by columns whatever the text says of its layout; jax states
that layout, so what LAPACK sees is the value itself.

gesdd, gesvd, syevd and geev: where scipy is installed it calls the routine itself, so that signs
and phases of vectors, which no rule decides, are jax's; else numpy computes the same values in f64.
A problem that LAPACK does not solve, or that holds numbers that are not finite, yields NaN and a
code other than 0. gees, gehrd, sytrd and geqp3 are scipy's alone, whose LAPACK is that of jax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from topos.errors import UnavailableError
from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.call import CustomCall, Form, Options, Target, failure

Layout = tuple[int, ...] | None
Routine = Callable[..., Sequence[Any]]

_REAL: Final[Mapping[str, np.dtype[Any]]] = {"s": np.dtype(np.float32), "d": np.dtype(np.float64)}
_COMPLEX: Final[Mapping[str, np.dtype[Any]]] = {
    "c": np.dtype(np.complex64),
    "z": np.dtype(np.complex128),
}


def routines(
    names: tuple[str, str],
    routine: Routine,
    operands: str,
    results: str | tuple[str, str],
    options: Options = MappingProxyType({}),
) -> Mapping[str, Target]:
    """Returns the targets of a routine for f32, f64 and the complex elements of either.

    `names` are its names for real and for complex elements, and a pair of `results` goes with
    them; values are spelled as in `Form`.
    """
    pairs = (results, results) if isinstance(results, str) else results
    return {
        f"lapack_{letter}{name}_ffi": Target(
            partial(_batched, routine),
            Form(dtype, tuple(operands.split()), tuple(words.split()), options),
        )
        for letters, name, words in zip((_REAL, _COMPLEX), names, pairs, strict=True)
        for letter, dtype in letters.items()
    }


def flag(call: CustomCall, key: str) -> str:
    """Returns an option of one letter, which the configuration holds as its code."""
    return chr(call.configuration[key])


def _batched(routine: Routine, call: CustomCall, *operands: Array) -> list[Array]:
    rank = max(operand.ndim for operand in operands)
    stored = [
        _by_columns(operand, layout) if operand.ndim == rank else operand
        for operand, layout in zip(operands, call.operand_layouts, strict=False)
    ]
    results = [np.zeros(stated.shape, stated.dtype) for stated in call.results]
    batch = max(operands, key=lambda operand: operand.ndim).shape[: rank - 2]
    for place in np.ndindex(batch):
        values = routine(call, *[operand[place] for operand in stored])
        for position, (result, value) in enumerate(zip(results, values, strict=True)):
            shape, got = np.shape(value), result[place].shape
            if shape not in ((), got):
                needs = f"a result {position} of the shape {list(shape)} for each matrix"
                raise failure(call, f"needs {needs}, got {list(got)}")
            result[place] = value
    return [
        _from_columns(result, layout) if result.ndim == rank else result
        for result, layout in zip(results, call.result_layouts, strict=True)
    ]


def _columns(rank: int) -> tuple[int, ...]:
    """Returns the layout of matrices by columns, one after the other."""
    return (rank - 2, rank - 1, *reversed(range(rank - 2)))


def _slowest_first(array: Array, layout: Layout) -> tuple[int, ...]:
    return tuple(range(array.ndim)) if layout is None else layout[::-1]


def _by_columns(array: Array, layout: Layout) -> Array:
    """Returns what a routine that reads by columns finds in an array stored in `layout`."""
    if layout == _columns(array.ndim):
        return array
    stored = array.transpose(_slowest_first(array, layout)).ravel()
    *batch, rows, columns = array.shape
    return np.swapaxes(stored.reshape(*batch, columns, rows), -1, -2)


def _from_columns(array: Array, layout: Layout) -> Array:
    """Returns the array that is stored in `layout` as `array` is by columns."""
    if layout == _columns(array.ndim):
        return array
    order = _slowest_first(array, layout)
    stored = np.swapaxes(array, -1, -2).ravel()
    shape = [array.shape[axis] for axis in order]
    return stored.reshape(shape).transpose(np.argsort(order))


def required_scipy(target: str) -> Any:
    """Returns `scipy.linalg`, or raises `UnavailableError` that names the target."""
    module = optional_scipy()
    if module is None:
        raise UnavailableError(f"custom_call @{target} needs scipy: pip install scipy")
    return module


def optional_scipy() -> Any:
    """Returns `scipy.linalg`, or `None` where it cannot be imported."""
    try:
        return import_module("scipy.linalg")
    except ImportError:
        return None


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

# Room for blocks of this many columns, with which LAPACK sums in the order that jax has.
_COLUMNS: Final = 64


def _routine(call: CustomCall, name: str, matrix: Array) -> Any:
    (routine,) = required_scipy(call.target).get_lapack_funcs((name,), (matrix,))
    return partial(routine, lwork=_COLUMNS * (len(matrix) + matrix.shape[1] + 1))


def _gees(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    if not matrix.size:
        # LAPACK prints a complaint about matrices without elements.
        return (0,) * len(call.results)
    vectors = flag(call, "mode") == "V"
    triangle, selected, *values, basis, _, code = _routine(call, "gees", matrix)(
        _unsorted, matrix, compute_v=vectors, sort_t=0
    )
    return triangle, basis if vectors else 0, *values, selected, code


def _unsorted(*value: Any) -> None:
    """Takes an eigenvalue; LAPACK asks only where it is to sort them."""


def _gehrd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    low, high = call.configuration["low"] - 1, call.configuration["high"] - 1
    if matrix.size and not 0 <= low <= high < len(matrix):
        needs = f"needs 1 <= low <= high <= {len(matrix)}"
        raise failure(call, f"{needs}, got {low + 1} and {high + 1}")
    reduced, scales, code = _routine(call, "gehrd", matrix)(matrix, lo=low, hi=high)
    return reduced, scales, code


def _sytrd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    name = "hetrd" if np.iscomplexobj(matrix) else "sytrd"
    lower = flag(call, "uplo") == "L"
    reduced, diagonal, beside, scales, code = _routine(call, name, matrix)(matrix, lower=int(lower))
    return reduced, diagonal, beside, scales, code


def _geqp3(call: CustomCall, matrix: Array, pivots: Array) -> tuple[Any, ...]:
    if pivots.any():
        raise failure(call, f"needs columns that are all free, got {pivots.tolist()}")
    reduced, chosen, scales, _, _ = _routine(call, "geqp3", matrix)(matrix)
    return reduced, chosen, scales


TARGETS: Final[Mapping[str, Target]] = {
    **routines(
        ("gees", "gees"), _gees, "Tnn", ("Tnn Tnn Rn Rn I I", "Tnn Tnn Tn I I"), {"mode": "NV"}
    ),
    **routines(("gehrd", "gehrd"), _gehrd, "Tnn", "Tnn Tj I", {"low": int, "high": int}),
    **routines(("sytrd", "hetrd"), _sytrd, "Tnn", "Tnn Rn Rj Tj I", {"uplo": "LU"}),
    **routines(("geqp3", "geqp3"), _geqp3, "Tmn In", "Tmn In Tk"),
    **routines(
        ("gesdd", "gesdd"), partial(_svd, "gesdd"), "Tmn", "Tmn Rk Tmp Tqn I", {"mode": "ASN"}
    ),
    **routines(
        ("gesvd", "gesvd"), partial(_svd, "gesvd"), "Tmn", "Tmn Rk Tmp Tqn I", {"mode": "ASN"}
    ),
    **routines(("syevd", "heevd"), _syevd, "Tnn", "Tnn Rn I", {"uplo": "LU"}),
    **routines(("geev", "geev"), _geev, "Tnn", ("Rn Rn Cnn Cnn I", "Cn Cnn Cnn I"), _VECTORS),
}
