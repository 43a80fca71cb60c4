"""The operations that the interpreter executes: one table a family, merged here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from topos.runtimes.interpreter.context import Builder

__all__ = ["ELEMENTWISE", "FAMILIES", "OPERATIONS"]

# Files without a table hold what the families share.
FAMILIES: Final = [
    family
    for module in iter_modules(__path__)
    if hasattr(family := import_module(f"{__name__}.{module.name}"), "BUILDERS")
]

OPERATIONS: Final[Mapping[str, Builder]] = {
    name: builder for family in FAMILIES for name, builder in family.BUILDERS.items()
}
# A kernel of these, given arrays of one shape for scalars, computes element by element.
ELEMENTWISE: Final[frozenset[str]] = frozenset(
    name for family in FAMILIES if hasattr(family, "ELEMENTWISE") for name in family.BUILDERS
)
