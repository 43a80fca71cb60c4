"""Pointwise operations: those that, given arrays for scalars, compute element by element."""

from __future__ import annotations

from typing import Any, Final

import numpy.typing as npt

from topos.runtimes._stablehlo.operations import ELEMENTWISE
from topos.runtimes._stablehlo.site import Site
from topos.runtimes._stablehlo.syntax import Symbol, Tensor, Type

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


def works_pointwise(site: Site) -> bool:
    """Returns whether the kernel of `site`, all of scalars, also computes element by element."""
    if site.name in _CALLS:
        callee = Symbol(site.attribute(_CALLS[site.name]))
        return site.function(callee, site.operation).elementwise
    if site.name in _CARRIERS:
        return all(region.elementwise for region in site.regions)
    return site.name in ELEMENTWISE or moves_nothing(site)


def moves_nothing(site: Site) -> bool:
    """Returns whether `site` gives its one scalar another layout, of which there is but one."""
    return site.name in LAYOUTS and all(map(_is_scalar, (*site.operands, *site.results)))


def unchanged(array: Array) -> Array:
    """Returns `array`: the kernel of what moves nothing, for a scalar or an array of them."""
    return array


def _is_scalar(type: Type) -> bool:
    return isinstance(type, Tensor) and not type.shape
