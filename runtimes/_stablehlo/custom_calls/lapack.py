"""LAPACK's calling convention: names, matrices stored by columns, one call a matrix.

A routine takes the call and the matrices and vectors of one place of the batch, and returns one
array a result. LAPACK reads a matrix by columns whatever the text says of its layout; jax states
that layout, so what LAPACK sees is the value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.custom_calls.call import CustomCall, CustomKernel

__all__ = ["Routine", "flag", "routines"]

Array = npt.NDArray[Any]
Layout = tuple[int, ...] | None
Routine = Callable[..., Sequence[Any]]

_REAL: Final = "sd"
_COMPLEX: Final = "cz"


def routines(
    name: str, routine: Routine, complex_name: str | None = None
) -> Mapping[str, CustomKernel]:
    """Returns the targets of a routine for f32, f64 and the complex elements of either.

    `complex_name` is its name for complex elements where that is another one.
    """
    kernel = partial(_batched, routine)
    names = [letter + name for letter in _REAL]
    names += [letter + (complex_name or name) for letter in _COMPLEX]
    return {f"lapack_{each}_ffi": kernel for each in names}


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
        for result, value in zip(results, values, strict=True):
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
