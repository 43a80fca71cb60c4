"""The greatest elements along the last axis, with their places."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.orders import ranked, stable_order
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import dtype_of, is_complex, width

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _top_k(context: BuildContext) -> Kernel:
    (operand,), (_, places) = context.operands, context.results
    if is_complex(operand):
        context.unsupported(f"of elements of {operand.element} is not supported")
    # The formats of four and six bits lie in eight, and have no NaN to order.
    total = width(operand.element) == 8 * dtype_of(operand).itemsize
    return partial(_greatest, context.integer("k"), total, dtype_of(places))


def _greatest(count: int, total: bool, dtype: np.dtype[Any], array: Array) -> tuple[Array, Array]:
    """Returns the greatest `count` in descending order; of equal ones the first comes first.

    Floats are in totalOrder: NaN above +inf, NaN with a set sign below -inf.
    """
    ranks = ranked(array, total=total, descending=True)
    order = stable_order((ranks,), array.ndim - 1)[..., :count]
    return np.take_along_axis(array, order, axis=-1), order.astype(dtype)


BUILDERS: Final[Mapping[str, Builder]] = {"chlo.top_k": _top_k}
