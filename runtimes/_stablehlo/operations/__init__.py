"""The operations that the interpreter executes: one table a family, merged here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.runtimes._stablehlo.operations import (
    bits,
    comparison,
    constant,
    contraction,
    control,
    conversion,
    elementwise,
    gather,
    layout,
    reduction,
    scatter,
    slicing,
)
from topos.runtimes._stablehlo.site import Builder

__all__ = ["ELEMENTWISE", "OPERATIONS"]

_SCALAR_FAMILIES = (bits, comparison, constant, conversion, elementwise)
_TENSOR_FAMILIES = (contraction, control, gather, layout, reduction, scatter, slicing)

OPERATIONS: Final[Mapping[str, Builder]] = {
    name: builder
    for family in (*_SCALAR_FAMILIES, *_TENSOR_FAMILIES)
    for name, builder in family.BUILDERS.items()
}
# A kernel of these, given arrays of one shape for scalars, computes element by element.
ELEMENTWISE: Final[frozenset[str]] = frozenset(
    name for family in _SCALAR_FAMILIES for name in family.BUILDERS
)
