"""Emission: plans written as text that other compilers take."""

from topos.emit.patterns import standings
from topos.emit.stablehlo import write
from topos.emit.writer import lower

__all__ = ["lower", "standings", "write"]
