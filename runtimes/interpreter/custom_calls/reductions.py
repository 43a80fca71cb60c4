"""LAPACK's reductions that numpy lacks: gees, gehrd, sytrd and geqp3, through scipy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels.canonical import Array
from topos.runtimes.interpreter.custom_calls.call import CustomCall
from topos.runtimes.interpreter.custom_calls.foreign import required_scipy
from topos.runtimes.interpreter.custom_calls.forms import Target
from topos.runtimes.interpreter.custom_calls.lapack import flag, routines

__all__ = ["TARGETS"]


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
        raise ExecutionError(
            f"custom_call @{call.target} needs 1 <= low <= high <= {len(matrix)}, got"
            f" {low + 1} and {high + 1}"
        )
    reduced, scales, code = _routine(call, "gehrd", matrix)(matrix, lo=low, hi=high)
    return reduced, scales, code


def _sytrd(call: CustomCall, matrix: Array) -> tuple[Any, ...]:
    name = "hetrd" if np.iscomplexobj(matrix) else "sytrd"
    lower = flag(call, "uplo") == "L"
    reduced, diagonal, beside, scales, code = _routine(call, name, matrix)(matrix, lower=int(lower))
    return reduced, diagonal, beside, scales, code


def _geqp3(call: CustomCall, matrix: Array, pivots: Array) -> tuple[Any, ...]:
    if pivots.any():
        raise ExecutionError(
            f"custom_call @{call.target} needs columns that are all free, got {pivots.tolist()}"
        )
    reduced, chosen, scales, _, _ = _routine(call, "geqp3", matrix)(matrix)
    return reduced, chosen, scales


TARGETS: Final[Mapping[str, Target]] = {
    **routines(
        ("gees", "gees"), _gees, "Tnn", ("Tnn Tnn Rn Rn I I", "Tnn Tnn Tn I I"), {"mode": "NV"}
    ),
    **routines(("gehrd", "gehrd"), _gehrd, "Tnn", "Tnn Tj I", {"low": int, "high": int}),
    **routines(("sytrd", "hetrd"), _sytrd, "Tnn", "Tnn Rn Rj Tj I", {"uplo": "LU"}),
    **routines(("geqp3", "geqp3"), _geqp3, "Tmn In", "Tmn In Tk"),
}
