"""The classes of elements that operations take, as the specification groups them."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView
from topos.stablehlo.types import ELEMENTS

__all__ = [
    "ANY",
    "COMPLEX",
    "FLOATS",
    "INTEGERS",
    "PREDICATE",
    "SIGNED",
    "SIZES",
    "UNSIGNED",
    "demand_element",
]

ANY: Final = frozenset(ELEMENTS)
PREDICATE: Final = frozenset({"i1"})
COMPLEX: Final = frozenset(name for name in ANY if name.startswith("complex"))
UNSIGNED: Final = frozenset(name for name in ANY if name.startswith("ui"))
SIGNED: Final = frozenset(name for name in ANY if name.startswith("i")) - PREDICATE
INTEGERS: Final = SIGNED | UNSIGNED
FLOATS: Final = ANY - INTEGERS - COMPLEX - PREDICATE
# What an operand may hold that states a shape, a padding or indices.
SIZES: Final = INTEGERS | {"index"}


def demand_element(view: OpView, type: Tensor, taken: frozenset[str]) -> None:
    """Refuses a tensor whose elements are not among `taken`."""
    if type.element not in taken:
        view.refuse(f"takes no elements of {type.element}")
