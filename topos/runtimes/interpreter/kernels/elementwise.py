"""Elementwise arithmetic, functions and comparison, and what chooses by it, for every element."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from topos.payload.kernels import comparison
from topos.payload.kernels.conversion import promoted
from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.kernels.conversion import (
    NARROW_INTEGERS,
    SMALL_FLOATS,
    narrow,
    through_float,
    total_ranks,
)
from topos.runtimes.interpreter.program import Array, Kernel, Kernels
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import comparison as comparisons
from topos.stablehlo.dialect import elementwise as dialect
from topos.stablehlo.dialect import of_family
from topos.stablehlo.types import is_complex, is_float

# Of truth values addition is `or` and multiplication is `and`.
_TRUTH: Final[Kernels] = {
    dialect.Add: np.logical_or,
    dialect.Maximum: np.logical_or,
    dialect.Minimum: np.logical_and,
    dialect.Multiply: np.logical_and,
}

# Of 16 bits some maps are tables.
_FAST: Final = {"f16": "FAST_F16", "bf16": "FAST_BF16"}


def kernel_of(definition: type[Definition], element: str, exact: bool = True) -> Kernel | None:
    """Returns the kernel of an elementwise operation for elements called `element`, if any.

    `exact` chooses between the oracle's bits and numpy's speed.
    """
    kernel = _table(element, exact).get(definition)
    if kernel is not None and element in SMALL_FLOATS:
        return partial(through_float, kernel, element)
    if kernel is not None and element in NARROW_INTEGERS:
        return partial(narrow, kernel, element)
    return kernel


def _table(element: str, exact: bool) -> Kernels:
    if element == "i1":
        return _TRUTH
    if element[0] in "iu":
        return _loaded("bits", "KERNELS")
    if element.startswith("complex"):
        return _loaded("complex_numbers", "EXACT" if exact else "FAST")
    if exact or element in SMALL_FLOATS:
        return _loaded("floats", "EXACT")
    return _loaded("floats", _FAST.get(element, "FAST"))


@cache
def _loaded(file: str, table: str) -> Kernels:
    # A module has elements of few kinds, and complex ones need many more functions than others.
    kernels: Kernels = getattr(import_module(f"{__package__}.{file}"), table)
    return kernels


def elementwise(context: BuildContext[Any]) -> Kernel:
    """Returns the kernel of an operation whose operands and result have one element."""
    element = context.operands[0].element
    kernel = kernel_of(type(context.op), element, context.exact)
    if kernel is None:
        context.unsupported(f"of elements of {element} is not supported")
    return kernel


def asked(function: Kernel, array: Array) -> Array:
    """Returns what `function` tells of floats; in float32 every shorter one is itself."""
    return np.asarray(function(promoted(array)))


_DIRECTIONS: Final[Mapping[str, np.ufunc]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def _compare(context: BuildContext[comparisons.Compare]) -> Kernel:
    operand = context.operands[0]
    compare = _DIRECTIONS[context.op.comparison_direction]
    if context.op.compare_type == "TOTALORDER":
        return partial(_total_order, compare)
    if is_complex(operand):
        return partial(_lexicographic, compare)
    of_floats: Kernel = getattr(comparison, compare.__name__)
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
    lower = kernel_of(dialect.Maximum, element, context.exact)
    upper = kernel_of(dialect.Minimum, element, context.exact)
    assert lower, f"elements of {element} have an order"
    assert upper, f"elements of {element} have an order"
    return partial(_clamped, lower, upper)


def _clamped(lower: Kernel, upper: Kernel, low: Array, array: Array, high: Array) -> Array:
    return np.asarray(upper(lower(low, array), high))


BUILDERS: Final[Builders] = {
    **dict.fromkeys(of_family("elementwise").values(), elementwise),
    dialect.IsFinite: always(partial(asked, np.isfinite)),
    **dict.fromkeys(of_family("functions").values(), elementwise),
    comparisons.Clamp: _clamp,
    comparisons.Compare: _compare,
    comparisons.Select: always(comparison.select),
}
