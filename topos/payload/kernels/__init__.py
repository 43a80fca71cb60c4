"""The kernels whose bits are the spec, one module a family, each loaded where it is first used.

`kernels.product.matmul` loads the family `product`. A program that only records or emits never
computes, and `import topos` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from topos.payload.kernels import (
        arithmetic,
        clean,
        comparison,
        conversion,
        fast,
        maps,
        power,
        product,
        reduction,
        selection,
        stable,
        subnormals,
        window,
    )

__all__ = [
    "arithmetic",
    "clean",
    "comparison",
    "conversion",
    "fast",
    "maps",
    "power",
    "product",
    "reduction",
    "selection",
    "stable",
    "subnormals",
    "window",
]

_FAMILIES: Final = frozenset(__all__)


def __getattr__(name: str) -> ModuleType:
    if name not in _FAMILIES:
        raise AttributeError(f"{__name__} has no family {name!r}")
    # The import binds the family here, so this function runs once for each.
    return import_module(f"{__name__}.{name}")
