"""What MLIR itself defines: the module, and the cast that conversions leave behind."""

from __future__ import annotations

from topos.stablehlo.definition import Definition, define
from topos.stablehlo.traits import Trait

__all__ = ["Module", "UnrealizedConversionCast"]


@define("builtin.module")
class Module(Definition):
    """The functions of a text; the parser makes `Module` of it."""

    traits = Trait.UNSUPPORTED
    has_regions = True


@define("builtin.unrealized_conversion_cast")
class UnrealizedConversionCast(Definition):
    """The operands under other types, by a conversion that was never finished."""

    traits = Trait.UNSUPPORTED
