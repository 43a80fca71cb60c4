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


_FLOAT: Final[Mapping[str, Kernel]] = {
    "EQ": comparison.equal,
    "NE": comparison.not_equal,
    "LT": comparison.less,
    "LE": comparison.less_equal,
    "GT": comparison.greater,
    "GE": comparison.greater_equal,
}
_INTEGER: Final[Mapping[str, np.ufunc]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def _compare(context: BuildContext[dialect_comparison.Compare]) -> Kernel:
    operand, direction = context.operands[0], context.op.comparison_direction
    if context.op.compare_type == "TOTALORDER":
        return partial(_total_order, _INTEGER[direction])
    if is_complex(operand):
        return partial(_lexicographic, direction)
    return _FLOAT[direction] if is_float(operand) else _INTEGER[direction]


def _lexicographic(direction: str, left: Array, right: Array) -> Array:
    """Compares the real parts, and the imaginary ones where those are equal."""
    compare = _INTEGER[direction]
    if direction in ("EQ", "NE"):
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
