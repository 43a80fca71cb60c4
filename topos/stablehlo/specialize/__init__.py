"""Specialization: a module that leaves shapes open, made static for arguments of known shapes."""

from topos.stablehlo.specialize.module import specialized, specialized_for
from topos.stablehlo.specialize.retyping import is_static
from topos.stablehlo.specialize.shape_arithmetic import is_number

__all__ = ["is_number", "is_static", "specialized", "specialized_for"]
