"""Pointwise operations: those that, given arrays for scalars, compute element by element."""

from __future__ import annotations

from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.kernels import ELEMENTWISE
from topos.stablehlo.ir import Symbol, Tensor, Type

__all__ = ["LAYOUTS", "moves_nothing", "unchanged", "works_pointwise"]

Array = npt.NDArray[Any]

# From a scalar to a scalar these do nothing.
LAYOUTS: Final = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast", "broadcast_in_dim", "reshape", "reverse", "slice", "transpose")
)
# These work on arrays where the programs that they run do.
_CARRIERS: Final = frozenset(
    f"stablehlo.{name}" for name in ("case", "if", "optimization_barrier", "while")
)
_CALLS: Final = {"func.call": "callee", "stablehlo.composite": "decomposition"}


def works_pointwise(context: BuildContext) -> bool:
    """Returns whether the kernel of `context`, all of scalars, also computes element by element."""
    if context.name in _CALLS:
        callee = Symbol(context.attribute(_CALLS[context.name]))
        return context.function(callee, context.operation).elementwise
    if context.name in _CARRIERS:
        return all(region.elementwise for region in context.regions)
    return context.name in ELEMENTWISE or moves_nothing(context)


def moves_nothing(context: BuildContext) -> bool:
    """Returns whether `context` gives its one scalar another layout, of which there is but one."""
    return context.name in LAYOUTS and all(map(_is_scalar, (*context.operands, *context.results)))


def unchanged(array: Array) -> Array:
    """Returns `array`: the kernel of what moves nothing, for a scalar or an array of them."""
    return array


def _is_scalar(type: Type) -> bool:
    return isinstance(type, Tensor) and not type.shape
