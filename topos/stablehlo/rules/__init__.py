"""The rules that operations are verified by: one table a family, merged here.

Every operation of the StableHLO and CHLO specifications has its rule, also those that are not
executed. A rule takes dynamic types: it refuses what no run could satisfy.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from topos.stablehlo.opview import Rule

__all__ = ["RULES"]

_FAMILIES: Final = [
    import_module(f"{__name__}.{module.name}")
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
]

RULES: Final[Mapping[str, Rule]] = {
    name: rule for family in _FAMILIES for name, rule in family.RULES.items()
}
