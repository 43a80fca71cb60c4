"""Conversion between elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.conversion import convert, promoted
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.types import dtype_of

__all__ = ["BUILDERS", "ELEMENTWISE", "converted", "converter"]

Array = npt.NDArray[Any]


def converter(source: npt.DTypeLike, target: np.dtype[Any]) -> Kernel:
    """Returns the kernel from a dtype to another; the oracle's for the elements it has."""
    dtype = np.dtype(source)
    if dtype == target:
        return _unchanged
    if target.kind == "u" and dtype.kind not in "iub":
        return partial(_to_unsigned, target)
    return partial(_converted, target)


def converted(array: Array, target: np.dtype[Any]) -> Array:
    """Returns `array` as `target`."""
    result: Array = converter(array.dtype, target)(array)
    return result


def _unchanged(array: Array) -> Array:
    return array


def _converted(target: np.dtype[Any], array: Array) -> Array:
    return convert(array, target)


def _to_unsigned(target: np.dtype[Any], array: Array) -> Array:
    """Returns floats truncated toward zero, saturated at the ends, NaN as 0."""
    value = promoted(array).astype(np.float64)
    end = 2.0 ** (8 * target.itemsize)
    above = value >= end
    result = np.where((value > 0) & ~above, value, 0.0).astype(target)
    return np.where(above, np.iinfo(target).max, result).astype(target)


def _convert(site: Site) -> Kernel:
    site.takes(1)
    (operand,), (result,) = site.operands, site.results
    site.yields(operand._replace(element=result.element))
    return converter(dtype_of(operand), dtype_of(result))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.convert": _convert}
