"""Emission: plans written as text that other compilers take."""

from topos.emit.stablehlo import write
from topos.emit.writer import lower

__all__ = ["lower", "write"]
