"""The kernels whose bits are the spec, one module a family, each loaded where it is first used.

`kernels.product.matmul` loads the family `product`. A program that only records or emits never
computes, and `import topos` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topos.payload.kernels import arithmetic as arithmetic
    from topos.payload.kernels import clean as clean
    from topos.payload.kernels import comparison as comparison
    from topos.payload.kernels import conversion as conversion
    from topos.payload.kernels import fast as fast
    from topos.payload.kernels import maps as maps
    from topos.payload.kernels import power as power
    from topos.payload.kernels import product as product
    from topos.payload.kernels import reduction as reduction
    from topos.payload.kernels import selection as selection
    from topos.payload.kernels import stable as stable
    from topos.payload.kernels import subnormals as subnormals
    from topos.payload.kernels import window as window


def __getattr__(name: str) -> ModuleType:
    family = f"{__name__}.{name}"
    try:
        # The import binds the family here, so this function runs once for each.
        return import_module(family)
    except ModuleNotFoundError as error:
        if error.name != family:
            raise
        raise AttributeError(f"{__name__} has no family {name!r}") from None
