"""Elementwise arithmetic and maps of one to three operands of one type, for every element."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from topos.payload.kernels.conversion import promoted
from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.kernels.conversion import (
    NARROW_INTEGERS,
    SMALL_FLOATS,
    narrow,
    through_float,
)
from topos.runtimes.interpreter.program import Array, Kernel, Kernels
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import elementwise as dialect
from topos.stablehlo.dialect import of_family

__all__ = ["BUILDERS", "elementwise", "kernel_of"]


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
        return _loaded("integers", "KERNELS")
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


def _finite(array: Array) -> Array:
    return np.asarray(np.isfinite(promoted(array)))


BUILDERS: Final[Builders] = {
    **dict.fromkeys(of_family("elementwise").values(), elementwise),
    dialect.IsFinite: always(_finite),
}
