"""Kernels for operands without NaN: numpy's own ufuncs where those already give the spec's bits.

A NaN that arises from other numbers always raises the IEEE invalid flag, and numpy turns the flag
into `FloatingPointError` under `errstate(invalid="raise")`. A plan therefore runs these kernels
first and falls back to the canonicalizing ones only where the error says that a NaN exists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def has_nan(array: Array) -> bool:
    """Returns whether `array` holds a NaN; integers, booleans and structures never do."""
    kind = array.dtype.kind
    if kind in "iub" or array.size == 0 or (kind == "V" and array.dtype.names is not None):
        return False
    if array.itemsize >= 4:
        return bool(np.isnan(array).any())
    # The conversion of a signaling NaN on the way warns.
    with np.errstate(all="ignore"):
        return bool(np.isnan(array).any())


def guarded(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `kernel`, made to raise `FloatingPointError` where a result of it holds a NaN."""
    return partial(_checked, kernel)


def _checked(kernel: Callable[..., Any], *operands: Array, out: Array | None = None) -> Any:
    result = kernel(*operands) if out is None else kernel(*operands, out=out)
    if any(map(has_nan, result)) if isinstance(result, tuple) else has_nan(result):
        raise FloatingPointError("a NaN arose")
    return result


def raising() -> np.errstate:
    """Returns the context in which a NaN that arises is raised as `FloatingPointError`."""
    return np.errstate(all="ignore", invalid="raise")
