"""Comparison, and what chooses by it: select and clamp."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels import comparison
from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.kernels.elementwise import kernel_of
from topos.runtimes.interpreter.kernels.orders import total_ranks
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.dialect import comparison as dialect_comparison
from topos.stablehlo.dialect import elementwise as dialect_elementwise
from topos.stablehlo.types import is_complex, is_float

__all__ = ["BUILDERS"]


# Each with its kernel of floats and numpy's function of integers.
_DIRECTIONS: Final[Mapping[str, tuple[Kernel, np.ufunc]]] = {
    "EQ": (comparison.equal, np.equal),
    "NE": (comparison.not_equal, np.not_equal),
    "LT": (comparison.less, np.less),
    "LE": (comparison.less_equal, np.less_equal),
    "GT": (comparison.greater, np.greater),
    "GE": (comparison.greater_equal, np.greater_equal),
}


def _compare(context: BuildContext[dialect_comparison.Compare]) -> Kernel:
    operand = context.operands[0]
    of_floats, compare = _DIRECTIONS[context.op.comparison_direction]
    if context.op.compare_type == "TOTALORDER":
        return partial(_total_order, compare)
    if is_complex(operand):
        return partial(_lexicographic, compare)
    return of_floats if is_float(operand) else compare


def _lexicographic(compare: np.ufunc, left: Array, right: Array) -> Array:
    """Compares the real parts, and the imaginary ones where those are equal."""
    if compare in (np.equal, np.not_equal):
        return np.asarray(compare(left, right))
    same = left.real == right.real
    return np.asarray(
        np.where(same, compare(left.imag, right.imag), compare(left.real, right.real))
    )


def _total_order(compare: np.ufunc, left: Array, right: Array) -> Array:
    """Compares by IEEE 754's totalOrder: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    return np.asarray(compare(total_ranks(left), total_ranks(right)))


def _clamp(context: BuildContext[Any]) -> Kernel:
    element = context.results[0].element
    lower = kernel_of(dialect_elementwise.Maximum, element, context.exact)
    upper = kernel_of(dialect_elementwise.Minimum, element, context.exact)
    assert lower, f"elements of {element} have an order"
    assert upper, f"elements of {element} have an order"
    return partial(_clamped, lower, upper)


def _clamped(lower: Kernel, upper: Kernel, low: Array, array: Array, high: Array) -> Array:
    return np.asarray(upper(lower(low, array), high))


BUILDERS: Final[Builders] = {
    dialect_comparison.Clamp: _clamp,
    dialect_comparison.Compare: _compare,
    dialect_comparison.Select: always(comparison.select),
}
