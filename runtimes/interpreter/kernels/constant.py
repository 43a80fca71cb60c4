"""Constants: what is known before the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.stablehlo.dense import decoded
from topos.stablehlo.ir import Dense
from topos.stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "ELEMENTWISE"]


def _constant(context: BuildContext) -> Constant:
    value = context.attribute("value")
    if not isinstance(value, Dense):
        context.unsupported("of something other than dense<...> is not supported")
    return Constant(decoded(value))


def _iota(context: BuildContext) -> Constant:
    (result,) = context.results
    axis, shape = context.integer("iota_dimension"), extents(result)
    steps = converted(np.arange(shape[axis], dtype=np.int64), dtype_of(result))
    column = steps.reshape(-1, *(1 for _ in shape[axis + 1 :]))
    return Constant(np.broadcast_to(column, shape))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    "arith.constant": _constant,
    "chlo.constant": _constant,
    "sdy.constant": _constant,
    "stablehlo.constant": _constant,
    "stablehlo.iota": _iota,
}
