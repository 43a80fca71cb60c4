"""Elementwise arithmetic and maps of one to three operands of one type, for every element."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.payload.kernels.conversion import promoted
from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels import complex_numbers, floats, integers
from topos.runtimes.interpreter.kernels.small import (
    NARROW_INTEGERS,
    SMALL_FLOATS,
    narrow,
    through_float,
)
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS", "ELEMENTWISE", "kernel_of"]

Array = npt.NDArray[Any]

# Of truth values addition is `or` and multiplication is `and`.
_TRUTH: Final[Mapping[str, Kernel]] = {
    "stablehlo.add": np.logical_or,
    "stablehlo.maximum": np.logical_or,
    "stablehlo.minimum": np.logical_and,
    "stablehlo.multiply": np.logical_and,
}


_FAST: Final = {"f16": floats.FAST_F16, "bf16": floats.FAST_BF16}


def kernel_of(name: str, element: str, exact: bool = True) -> Kernel | None:
    """Returns the kernel of an elementwise operation for elements called `element`, if any.

    `exact` chooses between the oracle's bits and numpy's speed.
    """
    kernel = _table(element, exact).get(name)
    if kernel is not None and element in SMALL_FLOATS:
        return through_float(kernel, element)
    if kernel is not None and element in NARROW_INTEGERS:
        return narrow(kernel, element)
    return kernel


def _table(element: str, exact: bool) -> Mapping[str, Kernel]:
    if element == "i1":
        return _TRUTH
    if element[0] in "iu":
        return integers.KERNELS
    if element.startswith("complex"):
        return complex_numbers.EXACT if exact else complex_numbers.FAST
    if exact or element in SMALL_FLOATS:
        return floats.EXACT
    return _FAST.get(element, floats.FAST)


def _elementwise(context: BuildContext) -> Kernel:
    element = context.operands[0].element
    kernel = kernel_of(context.name, element, context.exact)
    if kernel is None:
        context.unsupported(f"of elements of {element} is not supported")
    return kernel


def _is_finite(context: BuildContext) -> Kernel:
    return _finite


def _finite(array: Array) -> Array:
    return np.asarray(np.isfinite(promoted(array)))


def _clamp(context: BuildContext) -> Kernel:
    element = context.results[0].element
    lower = kernel_of("stablehlo.maximum", element, context.exact)
    upper = kernel_of("stablehlo.minimum", element, context.exact)
    assert lower, f"elements of {element} have an order"
    assert upper, f"elements of {element} have an order"
    return partial(_clamped, lower, upper)


def _clamped(lower: Kernel, upper: Kernel, low: Array, array: Array, high: Array) -> Array:
    return np.asarray(upper(lower(low, array), high))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    **dict.fromkeys({**floats.EXACT, **integers.KERNELS}, _elementwise),
    "stablehlo.clamp": _clamp,
    "stablehlo.is_finite": _is_finite,
}
