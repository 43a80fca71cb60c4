"""CHLO constants: one number in the shape of an operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "ELEMENTWISE"]

Array = npt.NDArray[Any]


def _constant_like(context: BuildContext) -> Constant:
    (result,) = context.results
    value, dtype = context.attribute("value"), dtype_of(result)
    if type(value) not in (bool, int, float):
        context.unsupported(f"of {value} is not supported")
    # An integer of a type without a sign may be written as either of two numbers.
    exact = np.array(value % 2**64, np.uint64) if type(value) is int else np.array(value)
    scalar = converted(exact, dtype)
    return Constant(np.broadcast_to(scalar, extents(result)))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {"chlo.constant_like": _constant_like}
