"""Elementary functions that texts of before their operations carry as custom calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.custom_calls.call import CustomCall, CustomKernel

__all__ = ["TARGETS"]

Array = npt.NDArray[Any]


def _erf(array: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(array), np.float64)


def _applied(function: Callable[[Array], Array], call: CustomCall, operand: Array) -> Array:
    """Computes in double precision and rounds once."""
    computed = np.complex128 if np.iscomplexobj(operand) else np.float64
    return function(operand.astype(computed)).astype(operand.dtype)


TARGETS: Final[Mapping[str, CustomKernel]] = {
    f"mhlo.{name}": partial(_applied, function)
    for name, function in (
        ("acos", np.arccos),
        ("acosh", np.arccosh),
        ("asin", np.arcsin),
        ("asinh", np.arcsinh),
        ("atanh", np.arctanh),
        ("cosh", np.cosh),
        ("erf", _erf),
        ("sinh", np.sinh),
        ("tan", np.tan),
    )
}
