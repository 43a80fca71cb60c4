"""Reinterpretation of bits, also as elements of another width."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import dtype_of, extents, width

__all__ = ["BUILDERS", "ELEMENTWISE"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def _bitcast(context: BuildContext) -> Kernel:
    (operand,), (result,) = context.operands, context.results
    source, target = width(operand.element), width(result.element)
    if source == target and "i1" not in (operand.element, result.element):
        return partial(_viewed, dtype_of(result))
    if source % 8 or target % 8:
        return partial(_regrouped, source, target, dtype_of(result), extents(result))
    return partial(_recast, dtype_of(result), extents(result))


def _viewed(dtype: np.dtype[Any], array: Array) -> Array:
    return array.view(dtype)


def _recast(dtype: np.dtype[Any], shape: Shape, array: Array) -> Array:
    """Returns the bytes anew; the lowest ones of a wide element are the first narrow one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(dtype).reshape(shape)


def _regrouped(source: int, target: int, dtype: np.dtype[Any], shape: Shape, array: Array) -> Array:
    """Returns the bits anew where elements that fill no byte are among them, lowest bits first."""
    octets = (
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
    )
    bits = np.unpackbits(octets, axis=1, count=source, bitorder="little")
    grouped = bits.reshape(-1, target)
    packed = np.packbits(grouped, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).reshape(-1).view(dtype).reshape(shape)


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.bitcast_convert": _bitcast}
