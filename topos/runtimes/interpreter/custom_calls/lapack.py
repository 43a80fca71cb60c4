"""LAPACK's calling convention: names, matrices stored by columns, one call a matrix.

A routine takes the call and the matrices and vectors of one place of the batch, and returns one
array a result. LAPACK reads a matrix by columns whatever the text says of its layout; jax states
that layout, so what LAPACK sees is the value itself. Some routines are scipy's, whose LAPACK is the
one that jax calls.
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

__all__ = ["Routine", "flag", "optional_scipy", "required_scipy", "routines"]

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
