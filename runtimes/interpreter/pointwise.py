"""Pointwise operations: those that, given arrays for scalars, compute element by element."""

from __future__ import annotations

from typing import Any

from topos.runtimes.interpreter.context import BuildContext
from topos.stablehlo.ir import Symbol, Tensor, Type

__all__ = ["moves_nothing", "works_pointwise"]


def works_pointwise(context: BuildContext[Any]) -> bool:
    """Returns whether the kernel of `context`, all of scalars, also computes element by element."""
    op = context.op
    if op.calls:
        callee = Symbol(context.attribute(op.calls))
        return context.function(callee, context.operation).elementwise
    if op.is_carrier:
        return all(region.elementwise for region in context.regions)
    return op.is_elementwise or moves_nothing(context)


def moves_nothing(context: BuildContext[Any]) -> bool:
    """Returns whether `context` gives its one scalar another layout, of which there is but one."""
    if not context.op.is_layout:
        return False
    return all(map(_is_scalar, (*context.operands, *context.results)))


def _is_scalar(type: Type) -> bool:
    return isinstance(type, Tensor) and not type.shape
